package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/eggo-k8s/eggo/internal/run/event"
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
	read := decoders()[e.Verb]
	if read == nil {
		return nil, unknown(fmt.Errorf("unknown verb %q", e.Verb))
	}
	return read(e.Request)
}

// Verbs are all that a run can be named by.
func Verbs() []Verb { return slices.Sorted(maps.Keys(decoders())) }

func decoders() map[Verb]func([]byte) (Request, error) {
	return map[Verb]func([]byte) (Request, error){
		VerbDeploy: decode[Deploy], VerbJoin: decode[Join], VerbDelete: decode[Delete], VerbCleanup: decode[Cleanup],
		VerbRenew: decode[Renew], VerbSnapshot: decode[Snapshot], VerbRestore: decode[Restore],
		VerbUpgrade: decode[Upgrade], VerbBack: decode[Back], VerbBackup: decode[Backup],
		VerbImport: decode[Import],
	}
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
