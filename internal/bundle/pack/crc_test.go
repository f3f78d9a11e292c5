package pack

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestCRCsAreCombined: the CRC of a whole from those of its pieces, for both polynomials, many lengths, and pieces of
// nothing.
func TestCRCsAreCombined(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, poly := range []uint32{crc32.IEEE, crc32.Castagnoli} {
		table := crc32.MakeTable(poly)
		for range 200 {
			a, b := noise(r, r.IntN(3)*r.IntN(70_000)), noise(r, r.IntN(3)*r.IntN(70_000))
			want := crc32.Update(crc32.Checksum(a, table), table, b)
			if got := combine(poly, crc32.Checksum(a, table), crc32.Checksum(b, table), int64(len(b))); got != want {
				t.Fatalf("%d and %d bytes: %08x, want %08x", len(a), len(b), got, want)
			}
		}
	}
	// 5 GiB of zeros in two ways: lengths beyond 32 bits.
	zeros := make([]byte, 1<<20)
	piece := crc32.ChecksumIEEE(zeros)
	byPieces := uint32(0)
	for range 5 << 10 {
		byPieces = combine(crc32.IEEE, byPieces, piece, 1<<20)
	}
	doubled, n := piece, int64(1<<20)
	for n < 1<<32 {
		doubled, n = combine(crc32.IEEE, doubled, doubled, n), 2*n
	}
	rest := uint32(0)
	for range 1 << 10 {
		rest = combine(crc32.IEEE, rest, piece, 1<<20)
	}
	if got := combine(crc32.IEEE, rest, doubled, n); got != byPieces {
		t.Errorf("%08x, want %08x", got, byPieces)
	}
}
