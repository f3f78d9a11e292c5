package operation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// DetachedVerb is the first argument of the process of a run. What follows it is for who lists processes, and is not
// read.
const DetachedVerb = "detached-run"

// ReportFD is the descriptor on which the process of a run reports.
const ReportFD = 3

// envelopeFormat changes when the process of a run has to know what an older program does not.
const envelopeFormat = 1

// maxEnvelope bounds what the process of a run reads.
const maxEnvelope = 4 << 20

// Envelope is what the process of a run reads on stdin. It holds secrets.
type Envelope struct {
	Root    string // of the clusters, absolute
	Lang    string
	Version string
	Request request.Request
	Answers request.Answers
}

type envelopeJSON struct {
	Format  int             `json:"format"`
	Root    string          `json:"root"`
	Lang    string          `json:"lang"`
	Version string          `json:"version"`
	Request json.RawMessage `json:"request"`
	Answers request.Answers `json:"answers"`
}

func (e Envelope) encode() ([]byte, error) {
	for _, path := range e.paths() {
		if !utf8.ValidString(path) { // JSON would make it another path
			return nil, event.NewFault(event.ClassUsage, "launch.path", nil, "path", strconv.Quote(path))
		}
	}
	q, err := request.Encode(e.Request)
	if err != nil {
		return nil, unlaunched(err)
	}
	data, err := json.Marshal(envelopeJSON{envelopeFormat, e.Root, e.Lang, e.Version, q, e.Answers})
	if err != nil {
		return nil, unlaunched(err)
	}
	return data, nil
}

// paths are all that the process of the run will open.
func (e Envelope) paths() []string {
	c := e.Request.Base()
	out := slices.Concat([]string{e.Root, c.Source.File, c.Trust.Signers}, c.Hooks.Before, c.Hooks.After)
	switch q := e.Request.(type) {
	case request.Join:
		out = append(out, q.List)
	case request.Snapshot:
		out = append(out, q.Out)
	case request.Restore:
		out = append(out, q.Snapshot)
	}
	return out
}

func readEnvelope(in io.Reader) (Envelope, error) {
	var e envelopeJSON
	if err := json.NewDecoder(io.LimitReader(in, maxEnvelope)).Decode(&e); err != nil {
		return Envelope{}, unlaunched(fmt.Errorf("what was asked did not arrive: %w", err))
	}
	if e.Format != envelopeFormat { // the program was replaced while a menu was open
		return Envelope{}, unlaunched(fmt.Errorf("the request has the format %d, not %d", e.Format, envelopeFormat))
	}
	q, err := request.Decode(e.Request)
	return Envelope{e.Root, e.Lang, e.Version, q, e.Answers}, err
}

// report is what the process of a run says: first which run it is or why there is none, and at its end what went wrong
// that no log has.
type report struct {
	Cluster string       `json:"cluster,omitempty"`
	Run     string       `json:"run,omitempty"`
	Dir     string       `json:"dir,omitempty"`
	Fault   *event.Fault `json:"fault,omitempty"`
}

// RunDetached is the process of a run: it reads the envelope, begins the run, says on out which it is, and waits for
// its end. wire gives the Deps; begun is called with the handle, for signals, and gives what is to be called at the
// end. Where nobody hears of a fault that no log has, unheard is called.
func RunDetached(
	ctx context.Context, in io.Reader, out io.Writer, wire func(Envelope) (Deps, error), begun func(*Handle) func(),
	unheard func(error),
) error {
	say := json.NewEncoder(out)
	failed := func(err error) error {
		if ctx.Err() != nil && !errors.As(err, new(*event.Fault)) {
			err = event.NewFault(event.ClassInterrupted, "run.interrupted", nil)
		}
		if say.Encode(report{Fault: event.AsFault(err)}) != nil {
			unheard(err)
		}
		return err
	}
	e, err := readEnvelope(in)
	if err != nil {
		return failed(err)
	}
	d, err := wire(e)
	if err != nil {
		return failed(err)
	}
	d.Answers = e.Answers
	opened := d.Opened
	d.Opened = func(r Run) error {
		if opened != nil {
			if err := opened(r); err != nil {
				return err
			}
		}
		// Whoever launched it may be gone already: the run continues.
		_ = say.Encode(report{Cluster: r.Cluster, Run: r.Run, Dir: r.Dir})
		return nil
	}
	h, err := Start(ctx, e.Request, d)
	if err != nil {
		return failed(err)
	}
	defer begun(h)()
	res, err := h.Wait(context.WithoutCancel(ctx)) // an abort is in the log too
	if err != nil && !res.Logged {
		return failed(err)
	}
	return err
}

// unlaunched is the fault of a process that does no run.
func unlaunched(err error) error { return event.NewFault(event.ClassFailed, "launch.process", err) }

// errSilent is what a process that ended without a word leaves.
var errSilent = errors.New("the process ended without a word")
