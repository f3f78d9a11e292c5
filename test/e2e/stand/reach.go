package stand

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/eggo-k8s/eggo/internal/bundle/image"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
)

// probeTimeout is how long the real upstream has to answer all probes.
const probeTimeout = 5 * time.Second

// dockerHub is a name in images that is no registry's host.
const dockerHub = "docker.io"

// Probes are small files of a spec's upstream, one of each host: a build that gets these gets the rest.
func Probes(text []byte) ([]string, error) {
	s, err := spec.Parse(text)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var out []string
	add := func(address string) {
		u, err := url.Parse(strings.NewReplacer("{arch}", "amd64", "{uname}", "x86_64",
			"{kubernetes}", s.Kubernetes).Replace(address))
		if err == nil && u.Host != "" && !seen[u.Host] {
			seen[u.Host] = true
			out = append(out, u.String())
		}
	}
	for _, r := range s.Repositories {
		if len(r.Suites) > 0 {
			add(r.URL + "/dists/" + r.Suites[0] + "/InRelease")
		} else {
			add(r.URL + "/repodata/repomd.xml")
		}
	}
	for _, b := range s.Binaries {
		add(b.Checksum)
	}
	for _, im := range s.Images {
		if ref, err := image.ParseName(im.Name); err == nil && ref.Host != dockerHub {
			add("https://" + ref.Host + "/v2/")
		}
	}
	return out, nil
}

// Reaches says why upstream cannot be reached: the first address that does not answer, or answers something else than
// a file. A proxy that refuses a host answers, too.
func Reaches(ctx context.Context, rt http.RoundTripper, addresses []string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	client := &http.Client{Transport: rt}
	for _, address := range addresses {
		g.Go(func() error { return reach(ctx, client, address) })
	}
	return g.Wait()
}

func reach(ctx context.Context, client *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, 1); err != nil && err != io.EOF {
		return err
	}
	wantsLogin := resp.StatusCode == http.StatusUnauthorized && strings.HasSuffix(address, "/v2/") // as registries do
	if resp.StatusCode != http.StatusOK && !wantsLogin {
		return fmt.Errorf("%s answers %s", address, resp.Status)
	}
	return nil
}
