package remote

import "time"

const (
	quickChunk  = 500 * time.Millisecond
	slowChunk   = 2 * time.Second
	chunkGrowth = 4
)

// chunk is how much of an upload is sent between two signs of life. The node starts a process for each chunk, so chunks
// grow on a quick link. Nothing else is said to the node meanwhile, so they stay small on a slow one: the node gives up
// when the lease of this session is not renewed, and the upload goes on from there with small chunks.
type chunk struct {
	size, least int
	quick       int // how many in a row were quick; the first only fill buffers
}

// sent takes how long a chunk took.
func (c *chunk) sent(took time.Duration) {
	switch {
	case took > slowChunk:
		c.size, c.quick = c.least, 0
	case took > quickChunk:
		c.quick = 0
	default:
		if c.quick++; c.quick >= 4 && c.size < chunkGrowth*c.least {
			c.size, c.quick = 2*c.size, 0
		}
	}
}
