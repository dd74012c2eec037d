-- A workload for the sqlite3 shell: inserts, an index, joins, text functions, updates, deletes.
-- Everything in memory, so that the allocator and not the disk is measured. The number of items
-- comes from a table that the command line makes: -cmd "CREATE TABLE size AS SELECT 300000 AS n".
.bail on
PRAGMA journal_mode = MEMORY;
PRAGMA temp_store = MEMORY;
CREATE TABLE item(id INTEGER PRIMARY KEY, owner INTEGER, name TEXT, body TEXT);
CREATE TABLE owner(id INTEGER PRIMARY KEY, name TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO owner SELECT i, 'owner' || (i * 7919 % 2003) FROM n;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < size.n)
INSERT INTO item
SELECT i, i * 31 % 2000 + 1, 'item' || (i * 7919 % 300007),
       substr('the quick brown fox jumps over the lazy dog and returns', i % 40 + 1, i % 30 + 5)
FROM n;
CREATE INDEX item_name ON item(name);
CREATE INDEX item_owner ON item(owner, name);
SELECT count(*), sum(length(o.name || i.name)) FROM item i JOIN owner o ON o.id = i.owner;
SELECT count(DISTINCT substr(body, 1, 12)), max(upper(body)) FROM item;
SELECT count(*) FROM (SELECT owner, group_concat(name) g FROM item GROUP BY owner ORDER BY g);
UPDATE item SET body = body || replace(name, 'item', 'thing') WHERE id % 3 = 0;
DELETE FROM item WHERE id % 5 = 0;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n, size WHERE i < size.n / 5)
SELECT count(json_extract(json_array(i, 'x' || i, json_object('k', i)), '$[2].k')) FROM n;
SELECT count(*), sum(length(body)) FROM item;
