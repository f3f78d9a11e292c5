package main

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
	"github.com/eggo-k8s/eggo/internal/ui"
	"github.com/eggo-k8s/eggo/internal/ui/runview"
)

// The moving picture is a GIF: every page that shows pictures plays one, Go's own library writes it, and a screen has
// few colours anyway. A window of its own colour is as readable on a light page as on a dark one.
const (
	movieWide, movieHigh = 110, 32
	movieSpeed           = 4.0                    // until the failure, then twice as fast
	movieFrame           = 250 * time.Millisecond // of the picture
	movieRead            = 6 * time.Second        // for the panel of the failure
	movieKey             = time.Second            // for the key that is pressed
	movieEnd             = 5 * time.Second        // for the summary
)

// still is a screen of a moving picture, and how long it stands.
type still struct {
	content string
	key     string // that is being pressed
	caption string
	stands  time.Duration
}

// shows says whether it looks as another one.
func (s still) shows(o still) bool {
	return s.content == o.content && s.key == o.key && s.caption == o.caption
}

// chapters are the captions: the install, the failure, the retry, what follows, the end.
func chapters(lang i18n.Lang) [5]string {
	if lang == i18n.Chinese {
		return [5]string{"安装五个节点", "worker-2 的磁盘写满，其他节点继续", "清理磁盘后按 r：重试该步骤",
			"重试成功，安装继续", "集群就绪"}
	}
	return [5]string{"Installing five nodes", "The disk of worker-2 is full; the other nodes continue",
		"The disk is freed, r retries the step", "The retry succeeded; the installation continues",
		"The cluster is ready"}
}

// tape gives the records of a run one after the other.
type tape []event.Record

// Next implements backend.Records.
func (t *tape) Next() (event.Record, error) {
	if len(*t) == 0 {
		return event.Record{}, io.EOF
	}
	r := (*t)[0]
	*t = (*t)[1:]
	return r, nil
}

// play is the story of the demo, still by still: it is watched until the run asks, a person reads, and presses r.
func play(list []event.Record, lang i18n.Lang) ([]still, error) {
	now, records := list[0].Time, tape(list)
	board := backend.NewStory(&records, movieSpeed, func() time.Time { return now })
	replay := board.Replay
	board.Replay, board.Story, board.Note = nil, false, "" // as the run was seen when it was live
	board.Shell = func(string) (*exec.Cmd, error) { return nil, errors.New("there is none") }
	board.Edit = func() (*exec.Cmd, func() (bool, error), error) { return nil, nil, errors.New("there is none") }
	page := runview.New(board).Still()
	app := ui.New(page, ui.Options{Lang: lang, Now: replay.Clock})
	do(app, func() tea.Msg { return tea.WindowSizeMsg{Width: movieWide, Height: movieHigh} })
	do(app, app.Init())
	var out []still
	captions, chapter := chapters(lang), 0
	var step *state.Step // that is asked about
	take := func(key string, stands time.Duration) {
		s := still{app.View().Content, key, captions[chapter], stands}
		if last := len(out) - 1; last >= 0 && s.shows(out[last]) {
			out[last].stands += stands
			return
		}
		out = append(out, s)
	}
	for read := time.Duration(0); !page.Over(); {
		if len(out) > 1000 { // it waits for what nobody gives
			return nil, errors.New("the run of the demo does not end")
		}
		now = now.Add(movieFrame)
		do(app, page.Look())
		asked := len(page.State().Open) > 0
		if asked {
			chapter, step = 1, page.State().Open[0].Step
			read += movieFrame
		} else if step != nil && step.Outcome.Done() {
			chapter = 3
		}
		take("", movieFrame)
		if asked && read >= movieRead {
			take("r", movieKey)
			do(app, func() tea.Msg { return press("r") })
			replay.Speed(2)
			chapter = 2
		}
	}
	chapter = 4
	take("", movieEnd)
	return out, nil
}

// movie writes the story as a GIF that plays again and again. Of each still it holds what is new in it.
func (p *pen) movie(path string, stills []still, l look) (err error) {
	p.used = map[color.NRGBA]bool{}
	empty := p.window(l)
	colours := newInks()
	before := image.NewNRGBA(empty.Rect)
	var news []patch
	for _, s := range stills {
		img := &image.NRGBA{Pix: slices.Clone(empty.Pix), Stride: empty.Stride, Rect: empty.Rect}
		p.draw(img, s, l)
		news = append(news, colours.changed(before, img))
		before = img
	}
	pal := colours.palette(p.used)
	anim := gif.GIF{Config: image.Config{ColorModel: pal, Width: before.Rect.Dx(), Height: before.Rect.Dy()}}
	for i, n := range news {
		out := image.NewPaletted(n.area, pal)
		for k, c := range n.pix {
			out.Pix[k] = colours.index[c]
		}
		anim.Image = append(anim.Image, out)
		anim.Delay = append(anim.Delay, int(stills[i].stands/(10*time.Millisecond)))
		anim.Disposal = append(anim.Disposal, gif.DisposalNone)
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return gif.EncodeAll(f, &anim)
}

// patch is what is new in a frame: an area, with the numbers of its colours; 0 is a pixel that stays as it was.
type patch struct {
	area image.Rectangle
	pix  []uint16
}

// inks are the colours of all frames.
type inks struct {
	number map[color.NRGBA]uint16
	list   []color.NRGBA
	count  []int
	index  []uint8 // in the palette
}

func newInks() *inks {
	none := color.NRGBA{} // what is not drawn, and what stays as it was
	return &inks{number: map[color.NRGBA]uint16{none: 0}, list: []color.NRGBA{none}, count: []int{0}}
}

// changed is what is not as in the frame before.
func (x *inks) changed(before, now *image.NRGBA) patch {
	area := image.Rectangle{}
	for y := range now.Rect.Dy() {
		a, b := before.Pix[y*now.Stride:(y+1)*now.Stride], now.Pix[y*now.Stride:(y+1)*now.Stride]
		if bytes.Equal(a, b) {
			continue
		}
		from, to := 0, len(a)
		for a[from] == b[from] {
			from++
		}
		for a[to-1] == b[to-1] {
			to--
		}
		area = area.Union(image.Rect(from/4, y, (to+3)/4, y+1))
	}
	if area.Empty() {
		area = image.Rect(0, 0, 1, 1) // a frame has a pixel at least
	}
	out := patch{area: area, pix: make([]uint16, 0, area.Dx()*area.Dy())}
	last, number := color.NRGBA{}, uint16(0)
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x0 := area.Min.X; x0 < area.Max.X; x0++ {
			i := y*now.Stride + 4*x0
			if [4]byte(before.Pix[i:i+4]) == [4]byte(now.Pix[i:i+4]) {
				out.pix = append(out.pix, 0)
				continue
			}
			if c := (color.NRGBA{now.Pix[i], now.Pix[i+1], now.Pix[i+2], now.Pix[i+3]}); c != last {
				last, number = c, x.of(coarse(c))
			}
			x.count[number]++
			out.pix = append(out.pix, number)
		}
	}
	return out
}

// of is the number of a colour.
func (x *inks) of(c color.NRGBA) uint16 {
	n, ok := x.number[c]
	if !ok {
		n = uint16(len(x.list))
		x.number[c], x.list, x.count = n, append(x.list, c), append(x.count, 0)
	}
	return n
}

// palette has what is not drawn, the colours that were used, and the commonest of the edges of letters; the others take
// the nearest.
func (x *inks) palette(used map[color.NRGBA]bool) color.Palette {
	for n, c := range x.list {
		if used[c] {
			x.count[n] += 1 << 30
		}
	}
	order := make([]uint16, 0, len(x.list))
	for n := range x.list[1:] {
		order = append(order, uint16(n+1))
	}
	slices.SortStableFunc(order, func(a, b uint16) int { return x.count[b] - x.count[a] })
	pal := color.Palette{x.list[0]}
	for _, n := range order[:min(255, len(order))] {
		pal = append(pal, x.list[n])
	}
	x.index = make([]uint8, len(x.list))
	for n, c := range x.list[1:] {
		x.index[n+1] = uint8(1 + pal[1:].Index(c))
	}
	return pal
}

// movies writes the moving pictures, one in each language.
func (p *pen) movies(dir string, list []event.Record) error {
	for lang, name := range map[i18n.Lang]string{i18n.English: "demo.gif", i18n.Chinese: "demo-zh.gif"} {
		stills, err := play(list, lang)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, name)
		if err := p.movie(path, stills, dark()); err != nil {
			return err
		}
		fmt.Println(path)
	}
	return nil
}
