# Ruby: strings, hashes, garbage collection and its compaction, threads and fibers, forks, Marshal.
ruby -e '
srand 5
words = Hash.new { |hash, key| hash[key] = [] }
40_000.times { |i| words["w#{rand 20_000}"] << "x" * (i % 90) }
puts words.size, words.sort.hash == words.sort.hash, words.values.sum { |list| list.sum(&:size) }
GC.start; GC.compact if GC.respond_to?(:compact)
copy = Marshal.load(Marshal.dump(words.to_a))
puts copy == words.to_a
sums = 8.times.map { |t| Thread.new { (1..800).sum { |i| ("y" * (i * t % 700)).gsub("y", "zz").size } } }.map(&:value)
puts sums.inspect
fibers = 200.times.map { |i| Fiber.new { 3.times { |j| Fiber.yield i * j } } }
puts fibers.sum { |fiber| fiber.resume; fiber.resume }
3.times { |i| pid = fork { exit((1..500).map { |n| "q" * n }.size == 500 ? i : 9) }; Process.wait pid; puts $?.exitstatus }
puts (0..60).map { |i| 7**(i * 30) }.sum % 1_000_000_007
'
