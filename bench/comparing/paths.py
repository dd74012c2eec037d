"""Where things are."""
import pathlib

BENCH = pathlib.Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
BUILT = ROOT / "build" / "bench"
PEERS = ROOT / "build" / "peers"
LOAM = ROOT / "build" / "lib" / "libloam.so"
