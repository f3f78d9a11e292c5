package preflight

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// deprecated is an API that somebody has asked for since the API server was started.
type deprecated struct {
	api     string // GROUP/VERSION/RESOURCE
	removed int    // the minor that no longer has it
}

// readDeprecated reads the deprecated APIs with a release that removes them out of the metrics of an API server. The
// text is long, and all but a few of its lines are skipped as they come.
func readDeprecated(r io.Reader) ([]deprecated, error) {
	const most = 64 << 10 // of a line
	b := bufio.NewReaderSize(r, most)
	var out []deprecated
	for {
		line, err := b.ReadSlice('\n')
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if rest, ours := bytes.CutPrefix(line, []byte("apiserver_requested_deprecated_apis{")); ours && !long {
			if d, ok := parseDeprecated(string(rest)); ok {
				out = append(out, d)
			}
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// parseDeprecated reads what is behind the brace: labels, and a value that is not 0.
func parseDeprecated(text string) (deprecated, bool) {
	labels := map[string]string{}
	for !strings.HasPrefix(text, "}") {
		name, rest, ok := strings.Cut(strings.TrimLeft(text, ", "), `="`)
		value, after, closed := cutQuoted(rest)
		if !ok || !closed {
			return deprecated{}, false
		}
		labels[name], text = value, after
	}
	value, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(text, "}")), 64)
	minor, is := strings.CutPrefix(labels["removed_release"], "1.")
	removed, bad := strconv.Atoi(minor)
	if err != nil || value == 0 || !is || bad != nil || removed < 0 {
		return deprecated{}, false
	}
	api := labels["version"] + "/" + labels["resource"]
	if g := labels["group"]; g != "" {
		api = g + "/" + api
	}
	if s := labels["subresource"]; s != "" {
		api += "/" + s
	}
	return deprecated{event.Clean(api), removed}, true
}

// cutQuoted cuts behind the quote that closes a label, with its escapes read.
func cutQuoted(text string) (value, rest string, ok bool) {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			return out.String(), text[i+1:], true
		case text[i] == '\\' && i+1 < len(text):
			if i++; text[i] == 'n' {
				out.WriteByte('\n')
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return "", "", false
}
