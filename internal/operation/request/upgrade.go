package request

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// SoakTime is how long a control plane of a new minor runs as the old one, unless somebody says otherwise.
const SoakTime = 10 * time.Minute

// maxSoak is more than anybody waits for.
const maxSoak = 30 * 24 * time.Hour

// maxBatch of workers at a time, and the batch that is usual.
const (
	maxBatch  = 1000
	oneWorker = "1"
)

// Validate implements Request.
func (u Upgrade) Validate() error {
	usage := func(code, value string) error {
		return event.NewFault(event.ClassUsage, "usage."+code, nil, "value", value)
	}
	for _, path := range u.Bundles {
		if !filepath.IsAbs(path) {
			return usage("bundle", path)
		}
	}
	if u.Drain <= 0 {
		return event.NewFault(event.ClassUsage, "delete.drain-timeout", nil, "value", u.Drain.String())
	}
	if u.Soak < 0 || u.Soak > maxSoak {
		return usage("soak", u.Soak.String())
	}
	if _, err := Workers(u.Batch, 1); err != nil {
		return err
	}
	_, _, err := ParseWindow(u.Window)
	return err
}

// Validate implements Request. Nodes of two versions have no deploy.yaml that names their bundles.
func (b Back) Validate() error {
	if len(b.Limit) > 0 {
		return event.NewFault(event.ClassUsage, "usage.back-limit", nil)
	}
	if b.Drain < 0 {
		return event.NewFault(event.ClassUsage, "delete.drain-timeout", nil, "value", b.Drain.String())
	}
	_, err := Workers(b.Batch, 1)
	return err
}

// Workers is how many of so many workers are worked on at a time, at least one, when a batch is 3, 10% or "", which is
// one at a time.
func Workers(batch string, of int) (int, error) {
	if batch == "" {
		return 1, nil
	}
	digits, percent := strings.CutSuffix(batch, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > maxBatch || percent && n > 100 || digits[0] == '+' {
		return 0, event.NewFault(event.ClassUsage, "usage.batch", nil, "value", batch)
	}
	if percent {
		n = max(1, of*n/100)
	}
	return n, nil
}

// ParseWindow reads a time of the day, 22:00-06:00, as times since midnight; "" is always, and both are 0 then.
func ParseWindow(s string) (from, to time.Duration, err error) {
	if s == "" {
		return 0, 0, nil
	}
	a, b, ok := strings.Cut(s, "-")
	from, okA := clock(a)
	to, okB := clock(b)
	if !ok || !okA || !okB || from == to {
		return 0, 0, event.NewFault(event.ClassUsage, "usage.window", nil, "value", s)
	}
	return from, to, nil
}

// clock reads 6:00 or 22:30; 24:00 is the midnight at the end.
func clock(s string) (time.Duration, bool) {
	h, m, ok := strings.Cut(s, ":")
	if !ok || len(h) < 1 || len(h) > 2 || len(m) != 2 || strings.Trim(h+m, "0123456789") != "" {
		return 0, false
	}
	hours, err := strconv.Atoi(h)
	minutes, err2 := strconv.Atoi(m)
	if err != nil || err2 != nil || minutes > 59 || hours > 24 || hours == 24 && minutes > 0 {
		return 0, false
	}
	return (time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute) % (24 * time.Hour), true
}

// Call implements Request.
func (u Upgrade) Call() event.Call {
	c := u.call("upgrade")
	c.Bundles, c.Force, c.Packages = slices.Clone(u.Bundles), u.Force, u.Packages
	c.Probe, c.Window = u.Probe, u.Window
	if u.Batch != oneWorker {
		c.Batch = u.Batch
	}
	if u.Drain != DrainTimeout {
		c.Drain = u.Drain
	}
	if u.Soak != SoakTime {
		c.Soak = &u.Soak
	}
	return c
}

// Call implements Request.
func (b Back) Call() event.Call {
	c := b.call("upgrade --back")
	c.Force = b.Force
	if b.Batch != oneWorker {
		c.Batch = b.Batch
	}
	if b.Drain != DrainTimeout {
		c.Drain = b.Drain
	}
	return c
}

// NewUpgrade is an upgrade to bundles that says nothing else.
func NewUpgrade(c Common, bundles ...string) Upgrade {
	return Upgrade{Common: c, Bundles: bundles, Drain: DrainTimeout, Soak: SoakTime}
}

// Continue takes over the options of a run that is continued, where the request does not say otherwise.
func (u Upgrade) Continue(o *event.RunOptions) Upgrade {
	u.Common = u.Common.Continue(o)
	if o == nil || o.Upgrade == nil {
		return u
	}
	was := o.Upgrade
	said := func(o Option) bool { return slices.Contains(u.Said, o) }
	if len(u.Bundles) == 0 {
		u.Bundles = was.Bundles
	}
	if u.Drain == DrainTimeout && was.Drain > 0 && !said(OptionDrain) {
		u.Drain = was.Drain
	}
	if u.Soak == SoakTime && !said(OptionSoak) {
		u.Soak = was.Soak
	}
	if (u.Batch == "" || u.Batch == oneWorker) && !said(OptionBatch) {
		u.Batch = was.Batch
	}
	if u.Probe == "" && !said(OptionProbe) {
		u.Probe = was.Probe
	}
	if u.Window == "" && !said(OptionWindow) {
		u.Window = was.Window
	}
	u.Packages = u.Packages || was.Packages && !said(OptionPackages)
	return u
}

// Continue takes over the options of a run that is continued, where the request does not say otherwise.
func (b Back) Continue(o *event.RunOptions) Back {
	b.Common = b.Common.Continue(o)
	if o == nil || o.Upgrade == nil {
		return b
	}
	b.Drain, b.Batch = cmp.Or(b.Drain, o.Upgrade.Drain), cmp.Or(b.Batch, o.Upgrade.Batch)
	return b
}

// Options are what Continue takes over. That pods may be left behind is said for one run.
func (b Back) Options() *event.UpgradeOptions {
	return &event.UpgradeOptions{Drain: b.Drain, Batch: b.Batch}
}

// Options are what Continue takes over. That pods may be left behind is said for one run.
func (u Upgrade) Options() *event.UpgradeOptions {
	return &event.UpgradeOptions{
		Bundles: u.Bundles, Drain: u.Drain, Soak: u.Soak, Batch: u.Batch, Probe: u.Probe, Window: u.Window,
		Packages: u.Packages,
	}
}
