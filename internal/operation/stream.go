package operation

import (
	"context"
	"io"
	"iter"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/journal"
)

// Stream gives the records of an event log that comes from anywhere: a file, a pipe, a connection. Its end is that of
// the log; with follow more may come after it, until the run has ended. name is for messages. The end of ctx ends it
// at once; what reads from in then ends with in, which is the caller's to close.
func Stream(ctx context.Context, in io.Reader, name string, follow bool) iter.Seq2[event.Record, error] {
	return func(yield func(event.Record, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		records := journal.ReadFrom(in, name)
		if follow {
			records = journal.FollowFrom(ctx, in, name, func() bool { return true })
		}
		come := make(chan streamed)
		go func() {
			defer close(come)
			for rec, err := range records {
				select {
				case come <- streamed{rec, err}:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			select {
			case x, more := <-come:
				if !more || !yield(x.rec, x.err) || x.err != nil {
					return
				}
			case <-ctx.Done():
				yield(event.Record{}, ctx.Err())
				return
			}
		}
	}
}

// streamed is a record, or why none comes any more.
type streamed struct {
	rec event.Record
	err error
}
