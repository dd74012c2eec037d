# PHP with its modules, opened with RTLD_DEEPBIND as Debian's php does, on malloc instead of its own
# allocator and with that: arrays, text, XML, pictures, SQLite, regular expressions, sorting.
cat > program.php <<'PHP'
<?php
mt_srand(7);
$words = [];
for ($i = 0; $i < 60000; $i++) { $words["w" . mt_rand(0, 20000)][] = str_repeat("x", $i % 70); }
ksort($words);
echo count($words), " ", md5(serialize($words)), "\n";
$document = new DOMDocument();
$root = $document->appendChild($document->createElement("root"));
foreach (array_slice($words, 0, 500) as $word => $list)
  $root->appendChild($document->createElement($word, (string) count($list)));
$path = new DOMXPath($document);
echo $path->query("//*[. > 3]")->length, " ", md5($document->saveXML()), "\n";
$style = new DOMDocument();
$style->loadXML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">' .
  '<xsl:template match="/root"><n><xsl:value-of select="count(*)"/></n></xsl:template></xsl:stylesheet>');
$processor = new XSLTProcessor();
$processor->importStylesheet($style);
echo trim($processor->transformToXml($document)), "\n";
$base = new PDO("sqlite::memory:");
$base->exec("CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT)");
$insert = $base->prepare("INSERT INTO t(b) VALUES(?)");
$base->beginTransaction();
foreach ($words as $word => $list) $insert->execute([strrev($word)]);
$base->commit();
echo $base->query("SELECT count(*), max(b), sum(length(b)) FROM t")->fetch()[2], "\n";
$picture = imagecreatetruecolor(300, 200);
for ($i = 0; $i < 200; $i++)
  imagefilledellipse($picture, $i, $i, 40, 20, imagecolorallocate($picture, $i, 255 - $i, 9));
ob_start(); imagepng($picture); echo md5(ob_get_clean()), "\n";
echo mb_strtoupper("straße"), " ", preg_replace_callback('/\d+/', fn($m) => $m[0] * 2, "a1b22c333"), "\n";
echo (new Collator("de"))->compare("ä", "z"), " ", md5(gzcompress(implode(array_keys($words)))), "\n";
echo json_encode(json_decode(json_encode(array_keys($words)))) === json_encode(array_keys($words)) ? "same" : "other", "\n";
PHP
php program.php
USE_ZEND_ALLOC=0 php -d opcache.enable_cli=1 program.php
