// SPDX-License-Identifier: Apache-2.0

package googledirectpath

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/grpclog"
)

var logger = grpclog.Component("google-c2p")

const (
	// metadataTimeout bounds one request to the metadata server.
	metadataTimeout = 10 * time.Second
	// maxMetadata bounds the size of a response of the metadata server, in bytes.
	maxMetadata = 64 << 10
)

// machine is what the metadata server knows about the machine that the program runs on.
type machine struct {
	zone string // "" if it is not known
	ipv6 bool   // whether it has an IPv6 address
}

// metadata is a client of Google Cloud's metadata server.
type metadata struct {
	host   func() string
	client *http.Client
}

// newMetadata returns a metadata client. The client uses no proxy, because the metadata server
// is on the machine's own link. It keeps no connection open, because normally it is used once.
func newMetadata(host func() string) *metadata {
	return &metadata{
		host:   host,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: metadataTimeout},
	}
}

// machine requests both facts at the same time. If a request fails, machine logs it and leaves
// that fact out.
func (m *metadata) machine() (out machine) {
	var wg sync.WaitGroup
	wg.Go(func() {
		zone, err := m.get("instance/zone")
		if err != nil {
			logger.Warningf("google-c2p: the zone is not known: %v", err)
		}
		out.zone = zone[strings.LastIndexByte(zone, '/')+1:] // "projects/123/zones/us-east1-b"
	})
	wg.Go(func() {
		address, err := m.get("instance/network-interfaces/0/ipv6s")
		if err != nil {
			logger.Infof("google-c2p: no IPv6 address is known: %v", err)
		}
		out.ipv6 = address != ""
	})
	wg.Wait()
	return out
}

func (m *metadata) get(path string) (string, error) {
	url := "http://" + m.host() + "/computeMetadata/v1/" + path
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Header.Set("Metadata-Flavor", "Google")
	resp, err := m.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxMetadata))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: HTTP status %d", url, resp.StatusCode)
	}
	return strings.TrimSpace(string(body)), nil
}
