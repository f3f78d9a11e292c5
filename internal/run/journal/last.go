package journal

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Last is the record that the log in a run's directory ends with, if it is in the last part of it: its RunEnded, if it
// has one. That connections were closed afterwards is nothing of the run. A log without a record has the empty one.
func Last(dir string) (event.Record, error) {
	f, err := os.Open(filepath.Join(dir, eventsFile))
	if err != nil {
		return event.Record{}, err
	}
	defer f.Close()
	return lastRecord(f), nil
}

func lastRecord(f *os.File) (last event.Record) {
	const part = 256 << 10
	i, err := f.Stat()
	if err != nil {
		return last
	}
	buf := make([]byte, min(part, i.Size()))
	if _, err := f.ReadAt(buf, i.Size()-int64(len(buf))); err != nil && !errors.Is(err, io.EOF) {
		return last
	}
	for end := bytes.LastIndexByte(buf, '\n'); end >= 0; {
		begin := bytes.LastIndexByte(buf[:end], '\n')
		if begin < 0 && i.Size() > part { // the rest of a line
			break
		}
		rec, err := event.DecodeLenient(buf[begin+1 : end])
		if err != nil {
			break
		}
		if last.Event == nil {
			last = rec
		}
		if _, closed := rec.Event.(event.HostState); !closed {
			if _, ended := rec.Event.(event.RunEnded); ended {
				last = rec
			}
			break
		}
		end = begin
	}
	return last
}
