package event

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fill sets every field of v to something that is not zero, so that a field that the codec loses is noticed.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", *n%5) + "值 <&>\"")
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n) * 1_000_000_007)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Map:
		k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(k, n)
		fill(e, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(k, e)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).Tag.Get("json") != "-" {
				fill(v.Field(i), n)
			}
			if v.Type().Field(i).Name == "Code" {
				v.Field(i).SetString("x.y-z")
			}
		}
	default:
		panic("a kind of field that the test does not know: " + v.Kind().String())
	}
}

func TestEveryTypeComesBackAsItWas(t *testing.T) {
	at := time.Date(2026, 11, 21, 10, 15, 30, 123456789, time.FixedZone("CST", 8*3600))
	for name, dec := range decoders() {
		zero, err := dec([]byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if Kind(zero) != name {
			t.Errorf("%T says it is %q but is registered as %q", zero, Kind(zero), name)
		}
		for _, full := range []bool{false, true} {
			v := reflect.New(reflect.TypeOf(zero)).Elem()
			if n := 0; full {
				fill(v, &n)
			}
			if first, ok := v.Interface().(RunStarted); ok {
				first.Format = LogFormat // no reader takes a higher one
				v.Set(reflect.ValueOf(first))
			}
			in := Record{7, at, v.Interface().(Event)}
			line, err := Encode(in)
			if err != nil {
				t.Fatal(name, err)
			}
			if !strings.HasPrefix(string(line), `{"seq":7,"time":"2026-11-21T02:15:30.123456789Z","type":"`+name+
				`",`) || strings.Contains(string(line), "\n") {
				t.Errorf("%s: not the line that the documents promise: %s", name, line)
			}
			out, err := Decode(line)
			if err != nil {
				t.Fatal(name, err)
			}
			in.Time = at.UTC()
			if d := cmp.Diff(in, out); d != "" {
				t.Errorf("%s (full %v):\n%s", name, full, d)
			}
		}
	}
}

func TestNoFieldIsNamedLikeTheHeader(t *testing.T) {
	for _, name := range Types() {
		for _, f := range Fields(name) {
			if f == "seq" || f == "time" || f == "type" || f == "" || f != strings.ToLower(f) {
				t.Errorf("%s has a field %q", name, f)
			}
		}
	}
}

func TestWhatIsNoRecordIsRefusedWithACode(t *testing.T) {
	for line, code := range map[string]string{
		``:         "event.bad-record",
		`null`:     "event.bad-record",
		`[]`:       "event.bad-record",
		`{"seq`:    "event.bad-record",
		"\x00\x00": "event.bad-record",
		`{"seq":0,"time":"2026-11-21T10:15:30Z","type":"notice"}`:                   "event.bad-record",
		`{"seq":1,"time":"yesterday","type":"notice"}`:                              "event.bad-record",
		`{"seq":1,"time":"2026-11-21T10:15:30Z"}`:                                   "event.bad-record",
		`{"seq":1,"time":"9999-12-31T23:59:59-01:00","type":"notice"}`:              "event.bad-record",
		`{"seq":1,"time":"2026-11-21T10:15:30Z","type":"step_ended","took_ns":"x"}`: "event.bad-record",
		`{"seq":1,"time":"2026-11-21T10:15:30Z","type":"moon_landed"}`:              "event.unknown-type",
	} {
		_, err := Decode([]byte(line))
		var f *Fault
		if !errors.As(err, &f) || f.Code != code {
			t.Errorf("%q: %v, want %s", line, err, code)
		}
	}
}

func TestANewerProgramsEventIsKeptAsItCame(t *testing.T) {
	line := `{"seq":3,"time":"2026-11-21T10:15:30Z","type":"moon_landed","crew":["a","b"]}`
	r, err := DecodeLenient([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if o, ok := r.Event.(Other); !ok || o.Type != "moon_landed" || r.Seq != 3 {
		t.Fatalf("%#v", r)
	}
	again, err := Encode(r)
	if err != nil || string(again) != line {
		t.Fatalf("%s %v", again, err)
	}
	if _, err := Decode(
		[]byte(`{"seq":1,"time":"2026-11-21T10:15:30Z","type":"phase_started","phase":"p","new":1}`)); err != nil {
		t.Fatal("a new field must not hurt:", err)
	}
}

func FuzzDecode(f *testing.F) {
	n := 0
	for _, dec := range decoders() {
		zero, _ := dec([]byte("{}"))
		v := reflect.New(reflect.TypeOf(zero)).Elem()
		fill(v, &n)
		line, _ := Encode(Record{1, time.Unix(0, 0), v.Interface().(Event)})
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := DecodeLenient(line)
		if err != nil {
			return
		}
		once, err := Encode(r)
		if err != nil {
			t.Fatalf("read but cannot be written: %q: %v", line, err)
		}
		if strings.ContainsAny(string(once), "\n\r") {
			t.Fatalf("more than a line: %q", once)
		}
		r2, err := DecodeLenient(once)
		if err != nil {
			t.Fatalf("%q: %v", once, err)
		}
		twice, err := Encode(r2)
		if err != nil || string(once) != string(twice) {
			t.Fatalf("%q became %q (%v)", once, twice, err)
		}
	})
}
