package deb

import (
	"encoding/binary"
	"errors"

	"github.com/klauspost/compress/zstd"
)

// arena keeps many small texts with neither a pointer nor a header of their own for each.
type arena struct{ chunks [][]byte }

const (
	chunkBits = 18
	chunkSize = 1 << chunkBits
	maxChunks = 1 << (32 - chunkBits)
)

var errArena = errors.New("too much text")

// put stores the texts one after the other and returns where.
func (a *arena) put(texts ...[]byte) (uint32, error) {
	need := 0
	for _, t := range texts {
		need += binary.MaxVarintLen32 + len(t)
	}
	n := len(a.chunks)
	if n == 0 || need > cap(a.chunks[n-1])-len(a.chunks[n-1]) {
		if n++; n > maxChunks {
			return 0, errArena
		}
		a.chunks = append(a.chunks, make([]byte, 0, max(need, chunkSize)))
	}
	last := &a.chunks[n-1]
	at := uint32(n-1)<<chunkBits | uint32(len(*last))
	for _, t := range texts {
		*last = append(binary.AppendUvarint(*last, uint64(len(t))), t...)
	}
	// What an oversized text left of its chunk lies beyond the offsets.
	if len(*last) >= chunkSize {
		*last = (*last)[:len(*last):len(*last)]
	}
	return at, nil
}

// get returns the n-th of the texts that were put together.
func (a *arena) get(at uint32, n int) string {
	b := a.chunks[at>>chunkBits][at&(chunkSize-1):]
	for {
		size, w := binary.Uvarint(b)
		b = b[w:]
		if n == 0 {
			return string(b[:size])
		}
		n--
		b = b[size:]
	}
}

// blockSize is about how much text of stanzas is compressed together: large enough to compress well, small enough that
// the few of a closure are read quickly.
const blockSize = 128 << 10

// newEncoder makes the compressor of blocks.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(blockSize),
		zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
}

// newDecoder makes their decompressor. The blocks are this process's own, one stanza at most above blockSize.
func newDecoder() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxMemory(blockSize+maxStanza))
}
