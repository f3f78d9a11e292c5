package upgrade

import (
	"testing"
	"time"
	_ "time/tzdata" // a machine may have no zones
)

func TestTheWindowIsOpen(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	day := Window{From: 9 * time.Hour, To: 17*time.Hour + 30*time.Minute}
	night := Window{From: 22 * time.Hour, To: 4 * time.Hour}
	const format = "2006-01-02 15:04"
	for _, c := range []struct {
		w          Window
		now, opens string
	}{
		{Window{}, "2026-03-04 12:00", ""},
		{day, "2026-03-04 09:00", ""}, {day, "2026-03-04 17:29", ""},
		{day, "2026-03-04 08:59", "2026-03-04 09:00"}, {day, "2026-03-04 17:30", "2026-03-05 09:00"},
		{day, "2026-12-31 18:00", "2027-01-01 09:00"},
		{night, "2026-03-04 22:00", ""}, {night, "2026-03-04 03:59", ""}, {night, "2026-03-04 00:00", ""},
		{night, "2026-03-04 04:00", "2026-03-04 22:00"}, {night, "2026-03-04 21:59", "2026-03-04 22:00"},
		// the clocks change in the night before
		{day, "2026-03-28 20:00", "2026-03-29 09:00"}, {day, "2026-03-29 08:59", "2026-03-29 09:00"},
		{day, "2026-10-25 09:00", ""},
	} {
		now, err := time.ParseInLocation(format, c.now, zone)
		if err != nil {
			t.Fatal(err)
		}
		open, next := c.w.At(now)
		if is := next.Format(format); open != (c.opens == "") || !open && is != c.opens {
			t.Errorf("%v at %s: %v, opens %s", c.w, c.now, open, is)
		}
	}
}
