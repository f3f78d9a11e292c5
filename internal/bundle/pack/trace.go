package pack

import (
	"errors"
	"hash/crc32"
	"slices"
)

// recordPiece is how much of a file has one CRC in a record.
const recordPiece = 16 << 20

// trace notes the CRC-32C of what is written, run by run, each cut where a piece of a record ends, so that the CRC of
// all pieces is known at the end without reading the file.
type trace struct{ runs []run }

type run struct {
	pos, n int64
	crc    uint32
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // the library keeps one

// pieceEnd is where the piece of a record ends that has position pos; each part begins a new one.
func (f *files) pieceEnd(pos int64) int64 {
	_, at, room := f.where(pos)
	return pos + min(recordPiece-at%recordPiece, room)
}

func (t *trace) add(f *files, pos int64, b []byte) {
	table := castagnoli()
	for len(b) > 0 {
		n := min(int64(len(b)), f.pieceEnd(pos)-pos)
		last := len(t.runs) - 1
		if last < 0 || t.runs[last].pos+t.runs[last].n != pos || f.pieceEnd(t.runs[last].pos) <= pos {
			t.runs, last = append(t.runs, run{pos: pos}), last+1
		}
		r := &t.runs[last]
		r.crc = crc32.Update(r.crc, table, b[:n])
		r.n += n
		b, pos = b[n:], pos+n
	}
}

// pieces puts the runs together to the pieces of a file of size bytes. A gap or an overlap would mean that the bundle
// is not what was planned.
func (f *files) pieces(runs []run, size int64) ([]run, error) {
	slices.SortFunc(runs, func(a, b run) int { return int(min(max(a.pos-b.pos, -1), 1)) })
	var out []run
	pos := int64(0)
	for _, r := range runs {
		if r.pos != pos {
			return nil, errors.New("the pieces of the bundle do not fit together")
		}
		if last := len(out) - 1; last >= 0 && f.pieceEnd(out[last].pos) > pos {
			out[last].crc = combine(crc32.Castagnoli, out[last].crc, r.crc, r.n)
			out[last].n += r.n
		} else {
			out = append(out, r)
		}
		pos += r.n
	}
	if pos != size {
		return nil, errors.New("the pieces of the bundle do not fit together")
	}
	return out, nil
}
