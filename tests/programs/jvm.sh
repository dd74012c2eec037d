# A Java virtual machine: its compilers' threads, memory outside of its heap, compression in C,
# threads that start and end; with two collectors, the second with records of native memory.
# label: long
# packages: openjdk-17-jdk-headless
cat > Program.java <<'JAVA'
import java.io.*;
import java.nio.ByteBuffer;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import java.util.zip.*;
public class Program {
  static long work(int seed) throws Exception {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < 20000; i++) text.append("word ").append(i * seed % 911).append(' ');
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    for (int i = 0; i < 5; i++)
      try (GZIPOutputStream out = new GZIPOutputStream(packed)) { out.write(text.toString().getBytes()); }
    CRC32 sum = new CRC32();
    try (InputStream in = new GZIPInputStream(new ByteArrayInputStream(packed.toByteArray()))) { sum.update(in.readAllBytes()); }
    long bytes = 0;
    for (int i = 0; i < 300; i++) {
      ByteBuffer direct = ByteBuffer.allocateDirect(1 + i * 997 % 50000);
      while (direct.hasRemaining()) direct.put((byte) i);
      bytes += direct.capacity() + direct.get(0);
    }
    return sum.getValue() + bytes;
  }
  public static void main(String[] arguments) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    List<Future<Long>> results = new ArrayList<>();
    for (int i = 1; i <= 12; i++) { int seed = i; results.add(pool.submit(() -> work(seed))); }
    for (Future<Long> result : results) System.out.println(result.get());
    pool.shutdown();
    long ended = 0;
    for (int i = 0; i < 300; i++) { Thread thread = new Thread(() -> new byte[5000].clone()); thread.start(); thread.join(); ended++; }
    System.out.println(ended + " " + IntStream.range(0, 400000).parallel().mapToObj(Integer::toString)
        .collect(Collectors.groupingBy(String::length, TreeMap::new, Collectors.counting())));
    Process process = new ProcessBuilder("sh", "-c", "seq 3 | tr '\\n' ' '").start();
    System.out.println(new String(process.getInputStream().readAllBytes()) + process.waitFor());
  }
}
JAVA
javac -J-Xmx200m -d . Program.java
java -Xmx200m -XX:+UseG1GC -cp . Program
java -Xmx200m -XX:+UseSerialGC -XX:NativeMemoryTracking=summary -cp . Program
