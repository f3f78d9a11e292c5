package request

import (
	"encoding/json"
	"fmt"

	"github.com/eggo-k8s/eggo/internal/event"
)

type envelope struct {
	Verb    Verb            `json:"verb"`
	Request json.RawMessage `json:"request"`
}

// Encode writes a request as JSON. Source.Parsed is not in it.
func Encode(r Request) ([]byte, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return json.Marshal(envelope{r.Verb(), data})
}

// Decode reads what Encode wrote.
func Decode(data []byte) (Request, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return nil, unknown(err)
	}
	switch e.Verb {
	case VerbDeploy:
		return decode[Deploy](e.Request)
	case VerbJoin:
		return decode[Join](e.Request)
	case VerbDelete:
		return decode[Delete](e.Request)
	case VerbCleanup:
		return decode[Cleanup](e.Request)
	case VerbRenew:
		return decode[Renew](e.Request)
	case VerbSnapshot:
		return decode[Snapshot](e.Request)
	case VerbRestore:
		return decode[Restore](e.Request)
	}
	return nil, unknown(fmt.Errorf("unknown verb %q", e.Verb))
}

func decode[R Request](data []byte) (Request, error) {
	var r R
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, unknown(err)
	}
	return r, nil
}

// unknown is the fault of a request that this program does not know: another version of it wrote it.
func unknown(err error) error { return event.NewFault(event.ClassFailed, "launch.process", err) }
