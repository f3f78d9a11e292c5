package building

import (
	"slices"

	"github.com/eggo-k8s/eggo/internal/bundle/build"
	"github.com/eggo-k8s/eggo/internal/output/report"
)

// json writes the event as a line; what moves, once a second for each.
func (r *Reporter) json(e build.Event) {
	o := map[string]any{"arch": e.Arch}
	put := func(k string, v any, set bool) {
		if set {
			o[k] = v
		}
	}
	moving := e.Kind == build.Fetching || e.Kind == build.Packing || e.Kind == build.Waiting
	var m *report.Meter
	if moving {
		key := string(e.Kind) + " " + e.Arch + " " + e.What + " " + e.URL
		if e.Done == e.Total {
			return // what follows says so
		}
		if last, again := r.told[key]; again && r.out.Progress.Now().Sub(last) < report.EveryJSON {
			return
		}
		r.told[key] = r.out.Progress.Now()
		m = r.state.meterOf(e)
	}
	put("what", e.What, e.What != "")
	put("url", e.URL, e.URL != "")
	put("done", e.Done, moving || e.Kind == build.Retrying)
	put("total", e.Total, (moving || e.Kind == build.Retrying) && e.Total >= 0)
	if m != nil {
		put("bytes_per_second", int64(m.Rate), true)
		left := m.Left(e.Done, e.Total)
		put("left_ns", left, left >= 0)
	}
	put("size", e.Total, e.Kind == build.Fetched || e.Kind == build.Built || e.Kind == build.Unchanged ||
		e.Kind == build.Resolved)
	put("cached", e.Cached, e.Kind == build.Fetched)
	put("packages", e.Packages, e.Kind == build.Resolved)
	put("known", e.Known, e.Kind == build.Resolved)
	put("file", e.File, e.File != "")
	put("sha256", e.SHA256, e.SHA256 != "")
	put("took_ns", e.Took, e.Took > 0)
	put("fault", e.Fault, e.Fault != nil)
	if e.Fault != nil {
		o["message"] = r.fault(e.Fault)
	}
	if e.Text != nil {
		o["text"], o["message"] = e.Text, r.out.P.Msg(*e.Text)
	}
	_ = r.out.Emit(string(e.Kind), o) // a reader that went away ends the program by SIGPIPE
}

// CloseJSON says the end as a line of JSON.
func (r *Reporter) CloseJSON(res *build.Result) {
	if res == nil {
		return
	}
	bundles := []map[string]any{}
	for _, b := range res.Bundles {
		o := map[string]any{"arch": b.Arch, "file": b.Path, "size": b.Size, "unchanged": b.Unchanged}
		if b.SHA256 != "" {
			o["sha256"] = b.SHA256
		}
		if len(b.Parts) > 0 {
			o["parts"] = b.Parts
		}
		bundles = append(bundles, o)
	}
	warnings := []string{}
	for _, m := range res.Warnings {
		if text := r.out.P.Msg(m); !slices.Contains(warnings, text) {
			warnings = append(warnings, text)
		}
	}
	_ = r.out.Emit("done", map[string]any{"lock": res.Lock, "bundles": bundles, "warnings": warnings,
		"took_ns": r.state.Took()})
}
