package pack

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"sort"
	"sync"
	"sync/atomic"
)

// follower hashes what is finished from the beginning on, while the rest is still coming: the bytes of the members
// whose sum is asked for, and those of the file if its sum is. It reads them back once for both, from the page cache. A
// blob that is not closed may come again with other bytes (Sink.Reset); so the state of the hashes is kept where each
// such blob begins.
type follower struct {
	w      *Writer
	wake   chan struct{}
	ended  chan struct{}
	known  chan struct{} // closed when the members' sums are
	final  chan struct{} // closed when the file has its last byte
	ready  []atomic.Bool // of the pieces that are sums
	buf    []byte
	frames bool // hash the file, too

	mu    sync.Mutex
	at    int64   // of the tar: what is before is hashed, or of no interest
	busy  int64   // of the tar: what is before is being hashed
	back  *Sink   // the blob to go back to, nil if none
	marks []mark  // where it can go back to
	state hashing // of the bytes before at
	sums  map[string]string
}

// mark is the state at the beginning of a piece.
type mark struct {
	sink  *Sink
	at    int64
	state hashing
}

// hashing is the state of the hashes at a position.
type hashing struct {
	member hash.Hash // of the member that the position is in
	found  []string  // sums of the members before
	file   hash.Hash // of the part that the position is in
	parts  []string  // sums of the parts before
	pos    int64     // in the file
}

// followStep is how much is read at once: a whole number of blocks, with their headers.
const followStep = 15 * (storedBlock + blockHead)

func startFollower(w *Writer) *follower {
	f := &follower{w: w, wake: make(chan struct{}, 1), ended: make(chan struct{}), known: make(chan struct{}),
		final: make(chan struct{}),
		ready: make([]atomic.Bool, len(w.layout.pieces)), frames: w.opts.Sums, sums: map[string]string{}}
	f.state.member = sha256.New()
	if f.frames {
		f.state.file = sha256.New()
	}
	go func() {
		defer close(f.ended)
		if err := f.run(); err != nil {
			w.fail(err)
		}
	}()
	return f
}

func (f *follower) poke() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// wait waits for the next poke; false means that all is over.
func (f *follower) wait() bool {
	select {
	case <-f.wake:
		return true
	case <-f.w.dead:
		return false
	}
}

// rewind sets the sink back to its beginning, and the follower too if it has seen bytes of it.
func (f *follower) rewind(s *Sink) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.written.Store(0)
	mine := f.first(s)
	if mine < 0 || f.marks[mine].at >= f.busy {
		return
	}
	if f.back == nil || mine < f.first(f.back) {
		f.back = s
	}
	f.poke()
}

func (f *follower) first(s *Sink) int {
	for i, m := range f.marks {
		if m.sink == s {
			return i
		}
	}
	return -1
}

func (f *follower) run() error {
	l, published := f.w.layout, false
	if !f.frames && len(l.spans) == 0 {
		close(f.known)
		return nil
	}
	f.buf = make([]byte, followStep)
	for {
		from, to, settled, err := f.step()
		if err != nil {
			return err
		}
		if from == l.stored {
			f.state.addMember(l.spans, from, nil) // an empty member may be the last
		}
		if settled && !published && len(f.state.found) == len(l.spans) {
			published = true
			for i, s := range l.spans {
				f.sums[s.path] = f.state.found[i]
			}
			close(f.known)
		}
		switch {
		case settled && from == l.stored:
			if f.frames {
				return f.rest()
			}
			return nil
		case from == to:
			if !f.wait() {
				return nil
			}
			continue
		}
		if err := f.hash(from, to); err != nil {
			return err
		}
		f.mu.Lock()
		f.at = to
		f.mu.Unlock()
	}
}

// step says what is to be hashed now, and whether nothing before can change any more.
func (f *follower) step() (from, to int64, settled bool, err error) {
	select {
	case <-f.w.whole:
		settled = true // before restore: what was reset was reset before
	default:
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restore()
	from, to, err = f.next()
	f.busy = to
	return from, to, settled, err
}

// restore goes back to where the blob that was reset begins.
func (f *follower) restore() {
	if f.back == nil {
		return
	}
	i := f.first(f.back)
	m := f.marks[i]
	f.back, f.marks, f.at, f.state = nil, f.marks[:i], m.at, m.state
}

// next says what can be hashed next: bytes of the tar that are written, at most a step, not beyond the beginning of an
// open blob, of which the state has to be kept.
func (f *follower) next() (from, to int64, err error) {
	l := f.w.layout
	if !f.frames {
		f.at = l.interest(f.at)
	}
	from, to = f.at, f.at
	limit := min(l.stored, (from/storedBlock+14)*storedBlock)
	for i := sort.Search(len(l.pieces), func(i int) bool {
		return l.pieces[i].at+l.pieces[i].size > from
	}); i < len(l.pieces) && to < limit; i++ {
		p, s := l.pieces[i], f.w.order[i]
		end := p.at + p.size
		switch {
		case s != nil && !s.closed.Load():
			if p.at > from {
				return from, min(to, limit), nil
			}
			if p.at == from && (len(f.marks) == 0 || f.marks[len(f.marks)-1].at != from) {
				kept, err := f.state.clone()
				if err != nil {
					return from, from, err
				}
				f.marks = append(f.marks, mark{s, from, kept})
			}
			return from, max(from, min(p.at+s.written.Load(), limit)), nil
		case p.part.SumOf != "" && !f.ready[i].Load():
			return from, min(to, limit), nil
		}
		to = end
	}
	return from, min(to, limit), nil
}

// interest is the first position from at on that a member's sum needs, the end of the stored part if there is none.
func (l *Layout) interest(at int64) int64 {
	for _, s := range l.spans {
		if at < s.to || at == s.to && s.from == s.to {
			return max(at, s.from)
		}
	}
	return l.stored
}

// hash takes the bytes of the tar from…to, which are written.
func (f *follower) hash(from, to int64) error {
	l := f.w.layout
	begin := l.file(from)
	if from == 0 {
		begin = 0
	}
	data := f.buf[:l.file(to)-begin]
	if err := f.w.files.read(data, begin); err != nil {
		return err
	}
	var beside sync.WaitGroup
	if f.frames {
		beside.Go(func() { f.state.addFile(f.w.files, data) })
	}
	tar := data
	if from == 0 {
		tar = data[gzipHead:]
	}
	l.unframe(tar, from, to, func(t int64, b []byte) { f.state.addMember(l.spans, t, b) })
	beside.Wait()
	return nil
}

// rest hashes the file behind the stored part while that is written.
func (f *follower) rest() error {
	pos := f.state.pos // the stored part's end, or 0 when there is none
	for {
		last := false
		select {
		case <-f.final:
			last = true
		default:
		}
		end := f.w.tail.end.Load()
		for pos < end {
			data := f.buf[:min(end-pos, int64(len(f.buf)))]
			if err := f.w.files.read(data, pos); err != nil {
				return err
			}
			f.state.addFile(f.w.files, data)
			pos += int64(len(data))
			if f.w.failure() != nil {
				return nil
			}
		}
		if last {
			f.state.parts = append(f.state.parts, hex.EncodeToString(f.state.file.Sum(nil)))
			return nil
		}
		if !f.wait() {
			return nil
		}
	}
}

func (h *hashing) clone() (hashing, error) {
	c := *h
	var err error
	if c.member, err = cloned(h.member); err == nil && h.file != nil {
		c.file, err = cloned(h.file)
	}
	c.found = h.found[:len(h.found):len(h.found)]
	c.parts = h.parts[:len(h.parts):len(h.parts)]
	return c, err
}

// cloned copies the state of a hash, which the sha256 of the standard library can do.
func cloned(h hash.Hash) (hash.Hash, error) {
	if c, ok := h.(hash.Cloner); ok {
		return c.Clone()
	}
	return nil, errors.ErrUnsupported
}

// addFile takes the next bytes of the file; where a part ends its sum is kept.
func (h *hashing) addFile(f *files, data []byte) {
	for len(data) > 0 {
		_, at, room := f.where(h.pos)
		if at == 0 && h.pos > 0 {
			h.parts = append(h.parts, hex.EncodeToString(h.file.Sum(nil)))
			h.file.Reset()
		}
		n := min(int64(len(data)), room)
		h.file.Write(data[:n])
		h.pos += n
		data = data[n:]
	}
}

// addMember takes bytes of the tar that begin at t, of which it needs those inside of the members that are asked for.
func (h *hashing) addMember(spans []span, t int64, data []byte) {
	for len(h.found) < len(spans) {
		s := spans[len(h.found)]
		from, to := max(t, s.from), min(t+int64(len(data)), s.to)
		if from < to {
			h.member.Write(data[from-t : to-t])
		}
		if t+int64(len(data)) < s.to {
			return
		}
		h.found = append(h.found, hex.EncodeToString(h.member.Sum(nil)))
		h.member.Reset()
	}
}
