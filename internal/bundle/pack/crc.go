package pack

import "hash/crc32"

// A CRC is the remainder of a polynomial over GF(2). That of two strings put together follows from theirs and the
// length of the second: crc(ab) = crc(a)·x^(8·len(b)) + crc(b) mod P; the inversions before and after (RFC 1952, 8)
// cancel out. Polynomials are kept as crc32 does, the coefficient of x^0 in the highest bit.

const (
	one   = 1 << 31 // x^0
	aByte = 1 << 23 // x^8
)

// multiply gives a·b mod poly.
func multiply(poly, a, b uint32) uint32 {
	product := uint32(0)
	for ; a != 0; a <<= 1 {
		if a&one != 0 {
			product ^= b
		}
		carry := b & 1
		b >>= 1
		if carry != 0 {
			b ^= poly
		}
	}
	return product
}

// combine gives the CRC of two strings together from the CRC of each and the length in bytes of the second.
func combine(poly, first, second uint32, length int64) uint32 {
	shift, square := uint32(one), uint32(aByte)
	for n := length; n > 0; n >>= 1 {
		if n&1 != 0 {
			shift = multiply(poly, shift, square)
		}
		square = multiply(poly, square, square)
	}
	return multiply(poly, shift, first) ^ second
}

// crcRun is the CRC-32 (IEEE) of a string that is put together from pieces.
type crcRun struct {
	crc uint32
	n   int64
}

func (c *crcRun) add(crc uint32, n int64) {
	c.crc = combine(crc32.IEEE, c.crc, crc, n)
	c.n += n
}
