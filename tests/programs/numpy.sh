# Python with numpy in threads: arrays of all sizes, products, sorting, text, and memory of 64 bytes' alignment.
/usr/bin/python3 - <<'PYTHON'
import hashlib, threading
import numpy as np
results = [None] * 4
def work(number):
    source = np.random.Generator(np.random.PCG64(number))
    seen = hashlib.sha256()
    for i in range(25):
        values = source.integers(0, 1000, size=(1 + i * 37 % 300, 50))
        product = values @ values.T
        seen.update(np.sort(product, axis=None).tobytes() + np.unique(values).tobytes())
        grown = np.concatenate([values[:, j % 50] for j in range(200)])
        grown.resize(grown.size * 3, refcheck=False)
        seen.update(np.cumsum(grown).tobytes() + np.array([f"text {n}" for n in grown[:300]]).tobytes())
        seen.update(np.fft.rfft(values.astype(float)).shape[1].to_bytes(2, "big"))
    large = np.zeros((300, 300)) + number
    results[number] = seen.hexdigest()[:16], float(np.linalg.norm(large)), int(np.round(large @ large).sum())
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*results, sep="\n")
PYTHON
