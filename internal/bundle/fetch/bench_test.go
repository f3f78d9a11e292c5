package fetch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// BenchmarkGet gets 16 blobs of 16 MiB from a server on loopback that sends them with sendfile: by All, and by what
// could not do less: a goroutine each that copies the body into a file and a sha256. Compare the MB/s of the two.
func BenchmarkGet(b *testing.B) {
	const n, size = 16, 16 << 20
	dir := b.TempDir()
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	var jobs []Job
	for i := range n {
		data := blob(size + i)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), data, 0o600); err != nil {
			b.Fatal(err)
		}
		jobs = append(jobs, Job{Source: known(fmt.Sprintf("%s/%d", srv.URL, i), data)})
	}
	rt, err := NewTransport(TransportOptions{Getenv: noEnv})
	if err != nil {
		b.Fatal(err)
	}
	client := NewHTTPClient(rt)
	get := func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			cache, err := OpenCache(filepath.Join(b.TempDir(), "cache"))
			if err != nil {
				b.Fatal(err)
			}
			c := &Client{HTTP: client, Cache: cache}
			b.StartTimer()
			if err := c.All(context.Background(), jobs, 0); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			os.RemoveAll(cache.dir)
			b.StartTimer()
		}
	}
	floor := func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			to := b.TempDir()
			b.StartTimer()
			if err := plain(client, jobs, to); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			os.RemoveAll(to)
			b.StartTimer()
		}
	}
	for _, x := range []struct {
		name string
		f    func(*testing.B)
	}{{"floor", floor}, {"all", get}, {"floor-again", floor}, {"all-again", get}} {
		b.Run(x.name, func(b *testing.B) { b.SetBytes(n * size); b.ReportAllocs(); x.f(b) })
	}
}

func plain(client *http.Client, jobs []Job, dir string) error {
	var wg sync.WaitGroup
	errs := make([]error, len(jobs))
	for i, j := range jobs {
		wg.Go(func() {
			errs[i] = func() error {
				resp, err := client.Get(j.URL)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
				if err != nil {
					return err
				}
				h := sha256.New()
				_, err = io.Copy(io.MultiWriter(f, h), resp.Body)
				return errors.Join(err, f.Close())
			}()
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
