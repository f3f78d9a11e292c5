package event

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// hostile is text as a node may say it: the beginning of a line of its own, colours, a title, text turned round, a
// broken character.
const hostile = "ok\r\n[ 00:01] n2 done\x1b[31m\x1b]0;owned\x07\u202eevil\u2066\x9b2J\x00\xff\x7f"

// poison sets every string of v to s, and every map and slice to n of them.
func poison(v reflect.Value, s string, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		poison(v.Elem(), s, n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			poison(v.Index(i), s, n)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for i := range n {
			v.SetMapIndex(reflect.ValueOf(s[:min(len(s), 40)]+strings.Repeat("k", i)), reflect.ValueOf(s))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				poison(v.Field(i), s, n)
			}
		}
	}
}

// inspect calls f with every string in v and what bounds it.
func inspect(v reflect.Value, at string, most int, f func(at, s string, most int)) {
	switch v.Kind() {
	case reflect.String:
		f(at, v.String(), most)
	case reflect.Pointer:
		if !v.IsNil() {
			inspect(v.Elem(), at, most, f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			inspect(v.Index(i), at+"[]", most, f)
		}
	case reflect.Map:
		if v.Len() > MaxArgs {
			f(at+" (count)", strings.Repeat("x", v.Len()), MaxArgs)
		}
		for _, k := range v.MapKeys() {
			f(at+" key", k.String(), MaxName)
			inspect(v.MapIndex(k), at+"{}", MaxArg, f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			m := MaxName
			if v.Type() == reflect.TypeFor[Call]() { // paths
				m = MaxArg
			}
			switch {
			case field.Name == "Line":
				m = MaxLine
			case field.Name == "Cause":
				m = MaxCause
			case field.Name == "Key" && v.Type() == reflect.TypeFor[CallMachine](): // a path
				m = MaxArg
			}
			if field.Tag.Get("json") != "-" {
				inspect(v.Field(i), at+"."+field.Name, m, f)
			}
		}
	}
}

// Whatever stands in an event, and whichever type a later program adds: in the log it is clean and bounded, as
// published and as read.
func TestNothingHostileGetsIntoTheLog(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: make test-long")
	}
	own := map[string]bool{"run_started.File": true, "run_started.Flags[]": true} // the operator's own, used as it is
	for _, field := range []string{"Limit[]", "OnFailure", "Signers", "Before[]", "After[]",
		"Upgrade.Bundles[]", "Upgrade.Batch", "Upgrade.Probe", "Upgrade.Window"} {
		own["run_started.Options."+field] = true
	}
	for _, text := range []string{hostile, strings.Repeat(hostile, 2_000), strings.Repeat("中", MaxLine)} {
		for name, dec := range decoders() {
			zero, err := dec([]byte("{}"))
			if err != nil {
				t.Fatal(err)
			}
			v := reflect.New(reflect.TypeOf(zero)).Elem()
			poison(v, text, 2)
			check := func(how string, e Event) {
				inspect(reflect.ValueOf(e), name, MaxName, func(at, s string, most int) {
					if !own[at] && (len(s) > most || s != Clean(s) || !utf8.ValidString(s)) {
						t.Errorf("%s: %s has %d bytes of at most %d: %.60q", how, at, len(s), most, s)
					}
				})
			}
			if name != "plan_made" { // ours: a large one is not gone through again
				r, err := NewBus(nil).Publish(v.Interface().(Event))
				if err != nil {
					t.Fatal(err)
				}
				check("published", r.Event)
			}
			line, err := Encode(Record{1, time.Unix(1, 0), v.Interface().(Event)})
			if err != nil {
				t.Fatal(err)
			}
			r, err := Decode(line)
			if err != nil {
				t.Fatal(err)
			}
			check("read", r.Event)
		}
	}
}

func TestArgumentsOfAFaultAreBoundedInNumber(t *testing.T) {
	kv := make([]string, 0, 2000)
	for i := range 1000 {
		kv = append(kv, "a"+strings.Repeat("b", i), strings.Repeat("x", 15<<10))
	}
	f := NewFault(ClassFailed, "node.command-failed", nil, kv...)
	n := 0
	for k, v := range f.Args {
		n += len(k) + len(v)
	}
	if len(f.Args) != MaxArgs || n > MaxArgs*(MaxName+MaxArg) {
		t.Errorf("%d arguments, %d bytes", len(f.Args), n)
	}
}

// The script of ours that failed keeps its lines, and only them.
func TestACommandKeepsItsLines(t *testing.T) {
	f := plain(NewFault(ClassFailed, "node.command-failed", nil, "command", "set -e\n\techo\x1b[2J \u202e\nexit 1\n"))
	if got := f.Args["command"]; got != "set -e\n echo[2J \nexit 1" {
		t.Errorf("%q", got)
	}
}

func TestACodeIsOneOrIsNot(t *testing.T) {
	for code, ok := range map[string]bool{"ssh.auth": true, "etcd.no-quorum": true, "internal": true, "": true,
		"a b": false, ".a": false, "a..b": false,
		"a.": false, "A": false, "a\x1b": false, "a\n": false, strings.Repeat("a", 200): false, "é": false} {
		f := plain(&Fault{Code: code})
		if (f.Code == code) != ok {
			t.Errorf("%q became %q", code, f.Code)
		}
	}
}

func FuzzClip(f *testing.F) {
	f.Add(hostile, 10)
	f.Add("a\u0301\u0301\u0301\u05d0b", 64)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = 8 + (most&0xffff)%5000
		c := Clip(s, most)
		if len(c) > most || !utf8.ValidString(c) || c != Clean(c) || Clip(c, most) != c {
			t.Errorf("%q at %d became %q", s, most, c)
		}
	})
}

func TestACauseKeepsItsEnd(t *testing.T) {
	err := errors.New(strings.Repeat("in the chart: ", 2000) + "世界 no such file")
	f := NewFault(ClassFailed, "x.y", err)
	if len(f.Cause) > MaxCause || !strings.HasPrefix(f.Cause, "in the chart: ") ||
		!strings.HasSuffix(f.Cause, "世界 no such file") || !utf8.ValidString(f.Cause) {
		t.Errorf("%d bytes: …%q", len(f.Cause), f.Cause[max(0, len(f.Cause)-40):])
	}
}

// The end of a run has a line for each node, and then what to do next: none is lost.
func TestTheEndOfAFleetIsWhole(t *testing.T) {
	var next []Msg
	for range 1000 {
		next = append(next, M("next.node", "node", "n"))
	}
	next = append(next, M("next.log", "path", "/x"))
	if end := normal(RunEnded{Next: next}).(RunEnded); len(end.Next) != len(next) || end.Next[1000].Key != "next.log" {
		t.Errorf("%d of %d", len(end.Next), len(next))
	}
}
