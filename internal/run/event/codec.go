package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strconv"
	"time"
)

// Other is an event of a type that this program does not know, kept as it came: a log written by a newer program can
// still be read (DecodeLenient) and written again without loss.
type Other struct {
	Type string
	Raw  json.RawMessage // the whole JSON object
}

func (o Other) kind() string { return o.Type }

// LogFormat is the format of the log that this program writes, and the highest that it reads. A log that does not say
// is of format 1. It changes when a program of today would misread the log; new types and fields alone do not change
// it.
const LogFormat = 1

// decoders has one entry for every type of the sealed set.
func decoders() map[string]func([]byte) (Event, error) {
	return map[string]func([]byte) (Event, error){
		"run_started":   decode[RunStarted],
		"plan_made":     decode[PlanMade],
		"host_state":    decode[HostState],
		"finding":       decode[Finding],
		"phase_started": decode[PhaseStarted],
		"phase_ended":   decode[PhaseEnded],
		"step_started":  decode[StepStarted],
		"step_retry":    decode[StepRetry],
		"step_asked":    decode[StepAsked],
		"step_decided":  decode[StepDecided],
		"step_ended":    decode[StepEnded],
		"step_undone":   decode[StepUndone],
		"change":        decode[Change],
		"notice":        decode[Notice],
		"output":        decode[Output],
		"waiting":       decode[Waiting],
		"progress":      decode[Progress],
		"run_ended":     decode[RunEnded],
	}
}

func decode[E Event](b []byte) (Event, error) {
	var e E
	err := json.Unmarshal(b, &e)
	return e, err
}

// Types lists the names of all event types, sorted.
func Types() []string {
	var names []string
	for k := range decoders() {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

// Kind is the event's type name as it stands in the JSON field "type".
func Kind(e Event) string { return e.kind() }

type header struct {
	Seq  uint64    `json:"seq"`
	Time time.Time `json:"time"`
	Type string    `json:"type"`
}

// opening is what of run_started is looked at before all else.
type opening struct {
	header
	Format int `json:"format"`
}

// Encode writes a record as one line of JSON without the newline: seq, time (RFC 3339 with nanoseconds, UTC) and type
// first, then the event's own fields.
func Encode(r Record) ([]byte, error) {
	if o, ok := r.Event.(Other); ok {
		var line bytes.Buffer
		err := json.Compact(&line, o.Raw)
		return line.Bytes(), err
	}
	if r.Event == nil {
		return nil, fmt.Errorf("record %d has no event", r.Seq)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{r.Seq, r.Time.UTC(), r.Event.kind()}); err != nil {
		return nil, err
	}
	b.Truncate(b.Len() - 2) // "}\n": the event's fields follow in the same object
	b.WriteByte(',')
	at := b.Len()
	if err := enc.Encode(r.Event); err != nil {
		return nil, err
	}
	line := b.Bytes()
	line = append(line[:at], line[at+1:]...) // the event's own "{"
	return line[:len(line)-1], nil
}

// Decode reads what Encode wrote. Text is cleaned and bounded, for a log may come from elsewhere. Unknown fields are
// passed over; an unknown type is a fault with the code event.unknown-type, a
// line that is no record one with the code event.bad-record.
func Decode(line []byte) (Record, error) { return decodeLine(line, false) }

// DecodeLenient is Decode that gives an event of an unknown type as Other.
func DecodeLenient(line []byte) (Record, error) { return decodeLine(line, true) }

// types is made once: a log has many lines.
var types = decoders()

func decodeLine(line []byte, lenient bool) (Record, error) {
	var first opening
	if err := json.Unmarshal(line, &first.header); err != nil {
		return Record{}, NewFault(ClassFailed, "event.bad-record", err)
	}
	h := first.header
	if h.Type == "run_started" && json.Unmarshal(line, &first) == nil && first.Format > LogFormat {
		return Record{}, NewFault(ClassUsage, "event.newer-format", nil, "format", strconv.Itoa(first.Format), "ours",
			strconv.Itoa(LogFormat))
	}
	h.Time = h.Time.UTC()
	if y := h.Time.Year(); h.Seq == 0 || y < 0 || y > 9999 || h.Type == "" {
		return Record{}, NewFault(ClassFailed, "event.bad-record",
			fmt.Errorf("seq, time or type is missing or out of range"))
	}
	dec, known := types[h.Type]
	if !known {
		if !lenient {
			return Record{}, NewFault(ClassFailed, "event.unknown-type", nil, "type", h.Type)
		}
		return Record{h.Seq, h.Time, Other{h.Type, bytes.Clone(line)}}, nil
	}
	e, err := dec(line)
	if err != nil {
		return Record{}, NewFault(ClassFailed, "event.bad-record", err, "type", h.Type)
	}
	if p, is := e.(PlanMade); is {
		boundPlan(p)
		return Record{h.Seq, h.Time, p}, nil
	}
	if first, is := e.(RunStarted); is && first.Options == nil && first.Flags != nil {
		first.Options = optionsOf(first.Flags)
		e = first
	}
	return Record{h.Seq, h.Time, normal(e)}, nil
}

// Fields lists the JSON names of the fields of an event type, in order, without seq, time and type; nil for an unknown
// type. It is for the test that keeps docs/json-output.md whole.
func Fields(name string) []string {
	dec, ok := types[name]
	if !ok {
		return nil
	}
	e, err := dec([]byte("{}"))
	if err != nil {
		return nil
	}
	var out []string
	t := reflect.TypeOf(e)
	for i := range t.NumField() {
		tag, _, _ := bytes.Cut([]byte(t.Field(i).Tag.Get("json")), []byte(","))
		out = append(out, string(tag))
	}
	return out
}
