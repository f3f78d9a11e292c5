package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/output/report/building"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// schema is the version of the JSON lines, which docs/json-output.md describes.
const schema = 1

// fields of a JSON line beside its type.
type fields map[string]any

// emit writes one JSON line, its type first; before the first one, a line with the version.
func (env *environment) emit(kind string, f fields) error {
	if !env.headed {
		env.headed = true
		if err := env.emit("version", fields{"schema": schema, "version": buildVersion()}); err != nil {
			return err
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(f); err != nil {
		return err
	}
	line := `{"type":` + strconv.Quote(kind)
	if len(f) > 0 {
		line += ","
	}
	_, err := io.WriteString(env.Stdout, line+b.String()[1:])
	return err
}

// progress is how the program shows what is under way.
func (env *environment) progress() report.ProgressOptions {
	o := report.ProgressOptions{Out: env.Stderr, Now: env.Now, Size: env.Size, Silent: env.json}
	o.Bars = env.Terminal && !env.json && env.Getenv("TERM") != "dumb"
	o.Color = o.Bars && env.Getenv("NO_COLOR") == ""
	locale := env.Getenv("LC_ALL") + env.Getenv("LC_CTYPE") + env.Getenv("LANG")
	o.ASCII = !strings.Contains(strings.ReplaceAll(strings.ToLower(locale), "-", ""), "utf8")
	return o
}

// building is how it reports a build.
func (env *environment) building() building.Output {
	return building.Output{
		Stdout: env.Stdout, P: env.P, Progress: env.progress(), JSON: env.json,
		Emit: func(kind string, f map[string]any) error { return env.emit(kind, f) },
	}
}

// say writes a result.
func (env *environment) say(s string) error {
	_, err := fmt.Fprintln(env.Stdout, cli.ScreenOf(env.Stdout, env.Getenv).Text(s))
	return err
}

// tell writes a message beside the results; nothing when the output is JSON.
func (env *environment) tell(s string) {
	if !env.json {
		fmt.Fprintln(env.Stderr, cli.ScreenOf(env.Stderr, env.Getenv).Text(s))
	}
}

var sizePattern = regexp.MustCompile(`^([0-9]{1,15}(?:\.[0-9]{1,6})?) ?(?:([KMGT])(iB|B)?|B)?$`)

// parseSize reads a number of bytes: 700M and 700MiB are 2^20 times 700, 700MB is 10^6 times 700.
func parseSize(flag, s string) (int64, error) {
	m := sizePattern.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, event.NewFault(event.ClassUsage, "usage.size", nil, "flag", flag, "value", s)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	base := 1024.0
	if m[3] == "B" {
		base = 1000
	}
	if m[2] != "" {
		n *= math.Pow(base, float64(1+strings.IndexByte("KMGT", m[2][0])))
	}
	if err != nil || n >= 1<<60 {
		return 0, event.NewFault(event.ClassUsage, "usage.size", nil, "flag", flag, "value", s)
	}
	return int64(n), nil
}

// The bounds of a part. A file system of the FAT family takes files of one byte less than 4 GiB.
const (
	minPart = 1 << 20
	fatPart = 4<<30 - 1
)

// parsePart reads the size of parts. 4G is the largest file that every medium takes.
func parsePart(flag, s string) (int64, error) {
	n, err := parseSize(flag, s)
	switch {
	case err != nil:
		return 0, err
	case n < minPart:
		return 0, event.NewFault(event.ClassUsage, "usage.part", nil, "flag", flag, "value", s)
	case n == fatPart+1:
		return fatPart, nil
	}
	return n, nil
}

var agePattern = regexp.MustCompile(`^([0-9]{1,6})([hdw])$`)

// parseAge reads hours, days and weeks: 12h, 30d, 4w.
func parseAge(flag, s string) (time.Duration, error) {
	m := agePattern.FindStringSubmatch(s)
	if m == nil {
		return 0, event.NewFault(event.ClassUsage, "usage.age", nil, "flag", flag, "value", s)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n == 0 {
		return 0, event.NewFault(event.ClassUsage, "usage.age", nil, "flag", flag, "value", s)
	}
	unit := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[m[2]]
	if n > int64(math.MaxInt64/unit) {
		return 0, event.NewFault(event.ClassUsage, "usage.age", nil, "flag", flag, "value", s)
	}
	return time.Duration(n) * unit, nil
}

// table writes rows in columns as wide as their widest cell, counted in cells of a terminal; nothing if there is only
// the head. The text comes from files: it is cleaned of what a terminal would obey. Columns whose head begins with >
// stand to the right.
func (env *environment) table(w io.Writer, title string, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	right := map[int]bool{}
	for i, h := range rows[0] {
		if rest, ok := strings.CutPrefix(h, ">"); ok {
			right[i], rows[0][i] = true, rest
		}
	}
	width := map[int]int{}
	for _, r := range rows {
		for i := range r {
			r[i] = event.Clean(ansi.Strip(r[i]))
			width[i] = max(width[i], ansi.StringWidth(r[i]))
		}
	}
	s := cli.ScreenOf(w, env.Getenv)
	if title != "" {
		fmt.Fprintf(w, "\n%s\n", s.Head(title))
	}
	for n, r := range rows {
		var b strings.Builder
		for i, c := range r {
			fill := strings.Repeat(" ", width[i]-ansi.StringWidth(c))
			if right[i] {
				c, fill = fill+c, ""
			}
			b.WriteString("  " + c + fill)
		}
		line := strings.TrimRight(b.String(), " ")
		if n == 0 {
			line = s.Head(line)
		}
		fmt.Fprintln(w, s.Text(line))
	}
}

func fileFault(name string, err error) error {
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassUsage, "usage.file", err, "file", name)
}

// writeFile puts a file in its place whole or not at all.
func writeFile(name string, data []byte, mode os.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return writeFault(name, err)
	}
	defer os.Remove(f.Name()) // gone when it was renamed
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return writeFault(name, err)
	}
	return nil
}

func writeFault(name string, err error) error {
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		err = pe.Err
	}
	return event.NewFault(event.ClassFailed, "build.write", err, "file", name)
}
