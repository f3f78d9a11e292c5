package bench

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// summary of a case's samples.
type summary struct {
	min, median time.Duration // wall
	cpu, server time.Duration // the least
	rss, out    int64
	twice       int64
	failed      string
}

func summarize(all []*Sample) summary {
	var walls []time.Duration
	s := summary{cpu: 1 << 62, server: 1 << 62}
	for _, x := range all {
		walls = append(walls, x.Wall)
		s.cpu, s.server = min(s.cpu, x.CPU), min(s.server, x.Served.CPU)
		s.rss, s.out, s.twice = max(s.rss, x.RSS), max(s.out, x.Out), max(s.twice, x.Served.Twice)
		s.failed = cmp.Or(s.failed, x.Failed)
	}
	slices.Sort(walls)
	s.min, s.median = walls[0], walls[len(walls)/2]
	return s
}

func (s *Section) floorOf(r Results) time.Duration {
	for _, c := range s.Cases {
		if c.Floor && len(r[c]) > 0 {
			return summarize(r[c]).min
		}
	}
	return 0
}

// Table writes a section as Markdown.
func (s *Section) Table(w io.Writer, r Results) {
	fmt.Fprintf(w, "\n## %s\n\n", s.Title)
	if s.Note != "" {
		fmt.Fprintf(w, "%s\n\n", s.Note)
	}
	rows := [][]string{{"", "runs", "min s", "median s", "CPU s", "server CPU s", "x floor", "RSS MB", "out MB",
		"fetched twice MB"}}
	floor := s.floorOf(r)
	var notes []string
	for _, c := range s.Cases {
		if c.Skip != "" {
			rows = append(rows, []string{c.Name, "-", c.Skip})
			continue
		}
		if len(r[c]) == 0 {
			continue
		}
		x := summarize(r[c])
		row := []string{c.Name, fmt.Sprint(len(r[c])), seconds(x.min), seconds(x.median), seconds(x.cpu), "-", "-",
			megabytes(x.rss), "-", "-"}
		if c.Serves {
			row[5], row[9] = seconds(x.server), megabytes(x.twice)
		}
		if floor > 0 && x.failed == "" {
			row[6] = fmt.Sprintf("%.2f", x.min.Seconds()/floor.Seconds())
		}
		if x.out > 0 {
			row[8] = megabytes(x.out)
		}
		if x.failed != "" {
			row[6] = "fails"
			notes = append(notes, fmt.Sprintf("%s: %s.", c.Name, x.failed))
		}
		rows = append(rows, row)
	}
	writeRows(w, rows)
	for _, n := range notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()) }

func megabytes(n int64) string { return fmt.Sprintf("%.1f", float64(n)/mega) }

// writeRows writes a table of which the first column stands left and the others right.
func writeRows(w io.Writer, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			if len(r) == len(width) {
				width[i] = max(width[i], len(c))
			}
		}
		width[0] = max(width[0], len(r[0]))
	}
	line := func(r []string) {
		for i := range width {
			c := ""
			if i < len(r) {
				c = r[i]
			}
			if i == 0 {
				fmt.Fprintf(w, "| %-*s ", width[i], c)
			} else {
				fmt.Fprintf(w, "| %*s ", width[i], c)
			}
		}
		fmt.Fprintln(w, "|")
	}
	line(rows[0])
	rule := "|" + strings.Repeat("-", width[0]+2)
	for _, n := range width[1:] {
		rule += "|" + strings.Repeat("-", n+1) + ":"
	}
	fmt.Fprintln(w, rule+"|")
	for _, r := range rows[1:] {
		line(r)
	}
}

// Report is all sections with their results.
type Report struct {
	Sections []*Section
	Results  []Results // of each section
}

// get finds a case that was run and did not fail.
func (r *Report) get(section int, name string) (summary, bool) {
	if section >= len(r.Results) {
		return summary{}, false
	}
	for _, c := range r.Sections[section].Cases {
		if c.Name == name && len(r.Results[section][c]) > 0 {
			s := summarize(r.Results[section][c])
			return s, s.failed == ""
		}
	}
	return summary{}, false
}

// The sections, in their order.
const (
	imagesCold = iota
	imagesWarm
	wholeCold
	wholeAgain
	slowLink
	cutLink
)

// Goals writes what was aimed at, whether it was met, and what bounds it where not.
func (r *Report) Goals(w io.Writer) {
	fmt.Fprintf(w, "\n## Goals\n\n")
	rows := [][]string{{"goal", "measured", "limit", ""}}
	var notes []string
	add := func(name string, got, limit float64, unit, bound string) {
		verdict := "met"
		if got > limit {
			verdict = "not met"
			notes = append(notes, fmt.Sprintf("- %s: %s", name, bound))
		}
		rows = append(rows, []string{name, fmt.Sprintf("%.2f%s", got, unit), fmt.Sprintf("%.4g%s", limit, unit),
			verdict})
	}
	r.goalImages(add)
	r.goalWhole(add)
	r.goalOthers(add)
	writeRows(w, rows)
	if len(notes) > 0 {
		fmt.Fprintf(w, "\nWhat bounds those that are not met:\n\n%s\n", strings.Join(notes, "\n"))
	}
}

type addGoal func(name string, got, limit float64, unit, bound string)

func ratio(a, b time.Duration) float64 { return a.Seconds() / max(b.Seconds(), 1e-9) }

func (r *Report) goalImages(add addGoal) {
	floor, ok1 := r.get(imagesCold, nameWrite)
	all, ok2 := r.get(imagesCold, nameBundle)
	for _, name := range []string{nameEggo, nameLocked} {
		x, ok := r.get(imagesCold, name)
		if !ok || !ok1 || !ok2 {
			continue
		}
		add("images only, "+name+": times fetch, sha256, write", ratio(x.min, floor.min), 1.15, "", fmt.Sprintf(
			"a bundle has more than that: sums of images.tar and of the file, every blob a second time in the "+
				"cache, and it is on the disk when it gets its name. "+
				"A plain program that does all that takes %s s, and %s CPU seconds with its server; the build takes "+
				"%.2f times and %.2f times that. On %d cores its CPU seconds take at least %s s, %.2f times the floor",
			seconds(all.min), seconds(all.cpu+all.server), ratio(x.min, all.min), ratio(spread(x), spread(all)),
			runtime.NumCPU(), seconds(spread(x)), ratio(spread(x), floor.min)))
	}
}

// spread is how long the work of a case and of its server takes at least on all cores.
func spread(s summary) time.Duration { return (s.cpu + s.server) / time.Duration(runtime.NumCPU()) }

func (r *Report) goalWhole(add addGoal) {
	floor, ok1 := r.get(wholeCold, nameWrite)
	compress, ok2 := r.get(wholeCold, namePack)
	all, ok3 := r.get(wholeCold, nameBundle)
	packing := compress.cpu / time.Duration(runtime.NumCPU())
	best := spread(floor) + packing
	for _, name := range []string{nameEggo, nameLocked} {
		x, ok := r.get(wholeCold, name)
		if !ok || !ok1 || !ok2 || !ok3 {
			continue
		}
		add("whole bundle, "+name+": times what the cores can do", ratio(x.min, best), 1.35, "", fmt.Sprintf(
			"that is %s s: (%s CPU seconds of fetch, sha256, write, %s of its server and %s of compressing) / %d. "+
				"The sums, the cache and the disk that a bundle has besides make that %s s; "+
				"the CPU seconds of the build and its server, %s, take at least %s s, %.2f times the goal's base. "+
				"What goes beyond that is other load on the cores, or waiting",
			seconds(best), seconds(floor.cpu), seconds(floor.server), seconds(compress.cpu), runtime.NumCPU(),
			seconds(spread(all)+packing),
			seconds(x.cpu+x.server), seconds(spread(x)), ratio(spread(x), best)))
	}
}

func (r *Report) goalOthers(add addGoal) {
	largest, ok1 := r.get(slowLink, nameLargest)
	for _, name := range []string{nameEggo, nameLocked} {
		if x, ok := r.get(slowLink, name); ok && ok1 {
			add("slow link, "+name+": times its largest layer", ratio(x.min, largest.min), 1.1, "", fmt.Sprintf(
				"%.2f s more than the layer: manifests and configurations, each asked for after the one before; "+
					"then, when the last byte is there, the sums of what lies behind the first "+
					"layer that was still coming, and bringing it to the disk", (x.min-largest.min).Seconds()))
		}
	}
	const memory = 64 * (1 << 20) / mega
	for _, s := range []int{imagesCold, wholeCold} {
		if x, ok := r.get(s, nameLocked); ok {
			add("memory for fetching and writing, "+strings.ToLower(strings.Split(r.Sections[s].Title, ",")[0]),
				float64(x.rss)/mega, memory, " MB",
				"what the program has before it does anything (eggo-bundle version), a buffer for each of 16 "+
					"connections, 3 MB a core for compressing")
		}
	}
	if x, ok := r.get(wholeAgain, nameUnchanged); ok && x.out > 0 {
		add("nothing changed: seconds a gigabyte of bundle", x.min.Seconds()/(float64(x.out)/1e9), 1, " s", fmt.Sprintf(
			"the bundle is read once to see that it is what it should be: %s CPU seconds for %s MB", seconds(x.cpu),
			megabytes(x.out)))
	}
}
