package request

import (
	"reflect"
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

func TestBatchesOfWorkers(t *testing.T) {
	for _, c := range []struct {
		batch    string
		of, want int // 0: refused
	}{
		{"", 9, 1}, {"1", 9, 1}, {"3", 2, 3}, {"10%", 50, 5}, {"10%", 9, 1},
		{"10%", 0, 1}, {"100%", 7, 7}, {"34%", 3, 1},
		{"0", 9, 0}, {"-1", 9, 0}, {"+1", 9, 0}, {"%", 9, 0}, {"0%", 9, 0}, {"101%", 9, 0}, {"1.5", 9, 0},
		{"3 %", 9, 0},
		{"10%%", 9, 0}, {"1001", 9, 0}, {"99999999999999999999", 9, 0}, {"all", 9, 0}, {"+5%", 9, 0},
	} {
		got, err := Workers(c.batch, c.of)
		f := event.AsFault(err)
		if got != c.want || (f != nil) != (c.want == 0) || f != nil && f.Code != "usage.batch" {
			t.Errorf("%q of %d: %d %v", c.batch, c.of, got, err)
		}
	}
}

func TestWindows(t *testing.T) {
	at := func(h, m int) time.Duration { return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute }
	for s, want := range map[string][2]time.Duration{
		"": {}, "22:00-06:00": {at(22, 0), at(6, 0)}, "6:05-7:00": {at(6, 5), at(7, 0)}, "20:00-24:00": {at(20, 0), 0},
		"00:00-04:30": {0, at(4, 30)},
	} {
		if from, to, err := ParseWindow(s); err != nil || [2]time.Duration{from, to} != want {
			t.Errorf("%q: %v %v %v", s, from, to, err)
		}
	}
	for _, s := range []string{"22:00", "22-06", "22:00-", "-06:00", "25:00-06:00", "22:60-06:00", "22:00-22:00",
		"24:01-3:00",
		"00:00-24:00", "1:1-2:2", "+1:00-02:00", "22:00 - 06:00", "22:00-06:00-08:00", "１:00-02:00"} {
		if _, _, err := ParseWindow(s); event.AsFault(err) == nil || event.AsFault(err).Code != "usage.window" {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestWhatNoUpgradeCanBe(t *testing.T) {
	for code, change := range map[string]func(*Upgrade){
		"usage.bundle":         func(u *Upgrade) { u.Bundles = []string{"b.tar.gz"} },
		"delete.drain-timeout": func(u *Upgrade) { u.Drain = 0 },
		"usage.soak":           func(u *Upgrade) { u.Soak = -time.Second },
		"usage.batch":          func(u *Upgrade) { u.Batch = "0" },
		"usage.window":         func(u *Upgrade) { u.Window = "night" },
		"":                     func(u *Upgrade) { u.Soak, u.Batch, u.Window = 0, "10%", "22:00-06:00" },
	} {
		u := NewUpgrade(OfCluster("one"), "/b.tar.gz")
		change(&u)
		f := event.AsFault(u.Validate())
		if f == nil && code != "" || f != nil && (f.Code != code || f.Class != event.ClassUsage) {
			t.Errorf("%s: %v", code, f)
		}
	}
	limited := Back{Common: Common{Limit: []string{"m1"}}}
	if f := event.AsFault(limited.Validate()); f == nil || f.Code != "usage.back-limit" {
		t.Error(f)
	}
	if err := (Back{}).Validate(); err != nil {
		t.Error(err)
	}
	u := NewUpgrade(OfCluster("one"))
	if u.Soak = maxSoak + 1; event.AsFault(u.Validate()) == nil {
		t.Error("a soak of months")
	}
}

// Who continues an upgrade gets what it was begun with, and what is said counts.
func TestAnUpgradeIsContinuedAsItWasBegun(t *testing.T) {
	u := NewUpgrade(Common{Source: Source{Cluster: "one"}, Limit: []string{"m1"}}, "/b.tar.gz")
	u.Drain, u.Soak, u.Batch, u.Probe, u.Window = time.Minute, 0, "2", "true", "1:00-2:00"
	u.Packages, u.Force = true, true
	was := &event.RunOptions{Limit: u.Limit, Upgrade: u.Options()}
	got := NewUpgrade(OfCluster("one")).Continue(was)
	want := u
	want.Force = false // it was said for one run
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	other := u
	other.Bundles, other.Batch, other.Soak = []string{"/c.tar.gz"}, "9", time.Hour
	if got := other.Continue(was); !reflect.DeepEqual(got, other) {
		t.Errorf("%+v", got)
	}
	if got := u.Continue(nil); !reflect.DeepEqual(got, u) {
		t.Errorf("%+v", got)
	}
}

// An option that is named replaces that of the run before, also by its usual value; one that is not named does not,
// even where a form says what is usual.
func TestWhatIsSaidOfAnUpgradeThatContinues(t *testing.T) {
	u := NewUpgrade(OfCluster("one"), "/b.tar.gz")
	u.Drain, u.Soak, u.Batch, u.Probe, u.Window, u.Packages = time.Minute, 0, "2", "true", "1:00-2:00", true
	was := &event.RunOptions{Upgrade: u.Options()}
	usual := NewUpgrade(OfCluster("one"), "/b.tar.gz")
	usual.Batch = "1" // a form's
	if got := usual.Continue(was); !reflect.DeepEqual(got, u) {
		t.Errorf("%+v", got)
	}
	if c := usual.Call(); c.Batch != "" || c.Drain != 0 || c.Soak != nil {
		t.Errorf("%+v", c)
	}
	said := usual
	said.Said = []Option{OptionDrain, OptionSoak, OptionBatch, OptionProbe, OptionWindow, OptionPackages}
	if got := said.Continue(was); !reflect.DeepEqual(got, said) {
		t.Errorf("%+v", got)
	}
	back := Back{Common: OfCluster("one"), Drain: time.Minute, Batch: "2"}
	if got := (Back{Common: OfCluster("one")}).Continue(&event.RunOptions{Upgrade: back.Options()}); !reflect.DeepEqual(
		got, back) {
		t.Errorf("%+v", got)
	}
	if f := event.AsFault((Back{Batch: "0"}).Validate()); f == nil || f.Code != "usage.batch" {
		t.Error(f)
	}
}

func FuzzBatchAndWindow(f *testing.F) {
	for _, s := range []string{"10%", "3", "22:00-06:00", "24:00-0:00", "", "%", ":-:"} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, of int) {
		of &= 0xffff
		if n, err := Workers(s, of); err == nil && (n < 1 || n > max(of, maxBatch)) {
			t.Errorf("%q of %d: %d", s, of, n)
		}
		from, to, err := ParseWindow(s)
		if err == nil && s != "" && (from == to || from < 0 || to < 0 || max(from, to) >= 24*time.Hour) {
			t.Errorf("%q: %v %v", s, from, to)
		}
	})
}
