# History, checks and repacking of a clone of this repository, with its last ten commits.
source=$(git -C "$SCRIPT_FOLDER" rev-parse --show-toplevel)
git -c safe.directory='*' clone --quiet --depth 10 \
  --upload-pack='git -c pack.window=1 -c pack.compression=1 upload-pack' "file://$source" clone
cd clone
git log --stat --format='%H %s' | sha256sum
git fsck --full --strict 2>&1
for i in $(seq 8); do
  seq $i 2000 > numbers; git add numbers
  GIT_AUTHOR_DATE="2020-01-01T00:00:${i}Z" GIT_COMMITTER_DATE="2020-01-01T00:00:${i}Z" \
    git -c user.name=t -c user.email=t@example.org commit --quiet -m "numbers $i"
done
git -c gc.auto=0 -c pack.threads=2 -c gc.aggressiveWindow=10 gc --quiet --aggressive --prune=now
git count-objects -v | grep -E '^(count|in-pack|garbage):'
git rev-parse HEAD
git blame --porcelain numbers | sha256sum
git grep -c 'the' HEAD | sha256sum
