package remote

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Uploads that take longer than slowUpload and carry less than slowRate bytes a second are explained.
const (
	slowUpload = 10 * time.Second
	slowRate   = 8 << 20
)

// nodeLimits is how many hundredths of one processor are busy on a node that takes an upload as fast as it can: sshd,
// which decrypts it, uses one processor.
const nodeLimits = 75

// explain emits, once for each host, whether the node or the network limits a slow upload. done is the last line of
// writeScript: "done BUSY CPUS", with BUSY in hundredths of a processor, or "done" if the node cannot measure it.
func (t *transfer) explain(sent int64, took time.Duration, done []string) {
	if len(done) != 3 || took < slowUpload || float64(sent)/took.Seconds() >= slowRate {
		return
	}
	busy, err1 := strconv.ParseUint(done[1], 10, 31)
	cpus, err2 := strconv.ParseUint(done[2], 10, 16)
	if err1 != nil || err2 != nil || cpus == 0 || busy > 100*cpus {
		return // a node can say there what it likes
	}
	t.h.mu.Lock()
	again := t.h.explained
	t.h.explained = true
	t.h.mu.Unlock()
	if again {
		return
	}
	key := "notice.upload-network"
	if busy >= nodeLimits {
		key = "notice.upload-node"
	}
	t.h.opt.Emit(event.Notice{Host: t.h.target.Name, Step: t.step, Text: event.M(key, "node", t.h.target.Name,
		"size", mib(sent), "took", took.Round(time.Second).String(),
		"rate", mib(int64(float64(sent)/took.Seconds()))+"/s",
		"busy", fmt.Sprintf("%d.%d", busy/100, busy/10%10), "cpus", strconv.FormatUint(cpus, 10))})
}

// finished reports whether the node said that the file is there.
func finished(words []string) bool { return len(words) > 0 && words[0] == "done" }

func words(b []byte) []string { return strings.Fields(string(b)) }
