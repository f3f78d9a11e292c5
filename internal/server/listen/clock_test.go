package listen_test

import (
	"testing"
	"time"

	"github.com/eggo-k8s/eggo/internal/server/listen"
)

// A certificate that was made while the clock was ahead is made again when it is right. A clock that is behind, as
// after a start without a battery, replaces neither the CA, which clients trust, nor the certificate.
func TestCertificatesAndAClockThatSteps(t *testing.T) {
	dir, now := t.TempDir(), time.Now()
	at := func(by time.Duration) func() time.Time { return func() time.Time { return now.Add(by) } }
	names := []string{"127.0.0.1"}
	if _, err := selfMade(dir, names, at(0)); err != nil {
		t.Fatal(err)
	}
	ca := authority(t, dir).Leaf
	ahead, err := selfMade(dir, names, at(400*24*time.Hour)) // the certificate has ended by then
	if err != nil {
		t.Fatal(err)
	}
	right, err := selfMade(dir, names, at(time.Minute))
	if err != nil || !right.Ends().Before(ahead.Ends()) {
		t.Error("the certificate of the future is used", err)
	}
	behind, err := selfMade(dir, names, at(-20*365*24*time.Hour))
	if err != nil || !behind.Ends().Equal(right.Ends()) {
		t.Error("the certificate was replaced", err)
	}
	far, err := listen.SelfMade(dir, names, at(11*365*24*time.Hour), at(time.Hour))
	if err != nil || far.Ends().After(ca.NotAfter) || far.Ends().Before(now) {
		t.Error("years ahead by a clock that is not trusted:", err)
	}
	if !authority(t, dir).Leaf.Equal(ca) {
		t.Error("the CA was replaced")
	}
	if _, err := selfMade(dir, names, at(11*365*24*time.Hour)); err != nil || authority(t, dir).Leaf.Equal(ca) {
		t.Error("the CA has ended and is kept", err)
	}
}
