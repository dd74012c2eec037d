# Node: garbage collection, buffers outside of V8's heap, compression in its pool of threads, workers
# that share memory, processes.
# label: long
# packages: nodejs
cat > program.mjs <<'JS'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads';
import { createHash, pbkdf2Sync, randomFillSync } from 'node:crypto';
import { gzip, gunzip, brotliCompress, brotliDecompress } from 'node:zlib';
import { promisify } from 'node:util';
import { execFileSync } from 'node:child_process';
const text = (number) => Array.from({ length: 3000 }, (_, i) => `word ${(i * number) % 911}`).join(' ');
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 16);
if (!isMainThread) {
  const sums = new Int32Array(workerData.shared);
  for (let i = 0; i < 200; i++) Atomics.add(sums, i % 8, Buffer.alloc(1 + i * 997 % 70000, 3).reduce((a, b) => a + b));
  parentPort.postMessage(digest(JSON.stringify(JSON.parse(JSON.stringify({ text: text(workerData.number) })))));
} else {
  const shared = new SharedArrayBuffer(32);
  const workers = await Promise.all([1, 2, 3, 4].map((number) => new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: { number, shared } });
    worker.on('message', resolve); worker.on('error', reject);
  })));
  console.log(workers.join(' '), new Int32Array(shared).join(' '));
  for (const [pack, unpack] of [[gzip, gunzip], [brotliCompress, brotliDecompress]]) {
    const packed = await Promise.all([...Array(40).keys()].map((i) => promisify(pack)(text(i))));
    const again = await Promise.all(packed.map((bytes) => promisify(unpack)(bytes)));
    console.log(digest(Buffer.concat(packed)), again.every((bytes, i) => bytes.toString() === text(i)));
  }
  let kept = [];
  for (let i = 0; i < 20000; i++) { kept.push(Buffer.allocUnsafeSlow(i * 37 % 9000)); if (kept.length > 500) kept = kept.slice(250); }
  console.log(kept.length, randomFillSync(Buffer.alloc(100000)).length, pbkdf2Sync('a', 'b', 2000, 32, 'sha256').toString('hex'));
  const words = new Map(text(7).split(/\s+/).map((word, i) => [word + i % 50, i]));
  console.log(words.size, [...words].sort().length, 3n ** 5000n % 1000000007n, new Intl.NumberFormat('de').format(1234567.89));
  for (let i = 0; i < 3; i++) process.stdout.write(execFileSync('sh', ['-c', `seq ${i} 3 | tr '\\n' ' '`]));
  console.log(`${process.resourceUsage().maxRSS > 0}`);
}
JS
node program.mjs
