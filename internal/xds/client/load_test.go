// SPDX-License-Identifier: Apache-2.0

package client

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCountingDoesNotAllocate(t *testing.T) {
	var loads Loads
	cluster, _ := loads.Cluster("c", "")
	l := cluster.Locality(LocalityKey{Zone: "z"})
	l.Started()
	l.ReportNamed("a", 1)
	cluster.Dropped("x")
	if n := testing.AllocsPerRun(100, func() {
		l.Started()
		l.ReportNamed("a", 1)
		l.ReportTop(Memory, 1)
		l.Finished(false)
		cluster.Dropped("")
		cluster.Dropped("x")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestOldNamesGo: a control plane that changes the names of clusters, localities or drops, again and again, leaves
// no more behind than the last report has needed.
func TestOldNamesGo(t *testing.T) {
	for name, names := range map[string][]string{"all asked for": nil, "one asked for": {"kept"}} {
		t.Run(name, func(t *testing.T) {
			var loads Loads
			kept, _ := loads.Cluster("kept", "")
			reported := uint64(0)
			for i := range 1000 {
				l := kept.Locality(LocalityKey{Zone: fmt.Sprint(i)})
				l.Started()
				l.Finished(false)
				kept.Dropped(fmt.Sprint(i))
				c, release := loads.Cluster(fmt.Sprint(i), "")
				c.Dropped("x")
				c.Locality(LocalityKey{}).Started()
				c.localities[LocalityKey{}].finish(false)
				release()
				for _, r := range loads.take(names) {
					reported += r.dropped
					for _, l := range r.localities {
						reported += l.succeeded
					}
				}
			}
			if n := len(loads.clusters) + len(kept.localities) + len(kept.drops); n > 5 {
				t.Errorf("%d clusters, %d localities and %d categories are left", len(loads.clusters), len(kept.localities), len(kept.drops))
			}
			want := uint64(2000)
			if names == nil {
				want = 4000
			}
			if reported != want {
				t.Errorf("%d are reported, want %d", reported, want)
			}
		})
	}
}

// TestClusterStaysWhileAnRPCIsInProgress: nobody uses the cluster any more, and the control plane does not ask for it.
func TestClusterStaysWhileAnRPCIsInProgress(t *testing.T) {
	var loads Loads
	c, release := loads.Cluster("c", "")
	l := c.Locality(LocalityKey{})
	l.Started()
	release()
	loads.take([]string{"other"})
	l.Finished(true)
	if r := loads.take(nil); len(r) != 1 || len(r[0].localities) != 1 || r[0].localities[0].failed != 1 {
		t.Errorf("the end of an RPC is not reported: %+v", r)
	}
	loads.take(nil)
	if len(loads.clusters) != 0 {
		t.Error("the cluster stays")
	}
}

// TestCountsOfAClusterThatIsNotAskedFor: while it is in use, it keeps them until it is asked for.
func TestCountsOfAClusterThatIsNotAskedFor(t *testing.T) {
	var loads Loads
	c, _ := loads.Cluster("c", "")
	l := c.Locality(LocalityKey{})
	l.Started()
	l.Finished(false)
	if r := loads.take([]string{"other"}); len(r) != 0 {
		t.Errorf("%+v", r)
	}
	if r := loads.take([]string{"c"}); len(r) != 1 || r[0].localities[0].succeeded != 1 {
		t.Errorf("%+v", r)
	}
}

// TestManyNamesOfClusters: a control plane that names very many clusters, once, has no report cost so much more.
func TestManyNamesOfClusters(t *testing.T) {
	var loads Loads
	for i := range 500 {
		loads.Cluster(fmt.Sprint("cluster-", i), "")
	}
	took := func(names []string) time.Duration {
		best := time.Hour
		for range 5 {
			begin := time.Now()
			loads.take(names)
			best = min(best, time.Since(begin))
		}
		return best
	}
	names := make([]string, 300_000)
	for i := range names {
		names[i] = fmt.Sprint("clustes-", i)
	}
	slices.Sort(names)
	few, many := took(names[:1]), took(names)
	if many > 100*few+50*time.Millisecond {
		t.Errorf("a report takes %v with %d names, %v with one", many, len(names), few)
	}
}

// TestNobodyAsksForReports: where the control plane asks for no reports, the names of clusters that come and go leave
// nothing behind if nothing was counted, and no more than there is a limit for otherwise.
func TestNobodyAsksForReports(t *testing.T) {
	for name, tt := range map[string]struct {
		drops, left int
	}{"nothing counted": {0, 0}, "drops": {1, maxReleased}} {
		t.Run(name, func(t *testing.T) {
			var loads Loads
			for range 2 {
				for i := range 2 * maxReleased {
					c, release := loads.Cluster(fmt.Sprint(i), "")
					for range tt.drops {
						c.Dropped("x")
					}
					release()
					release()
				}
				if n := len(loads.clusters); n != tt.left || loads.released != n {
					t.Errorf("%d clusters are left, %d of them released", n, loads.released)
				}
			}
			_, release := loads.Cluster("0", "")
			if n := len(loads.take(nil)); n != tt.left {
				t.Errorf("%d clusters are reported", n)
			}
			loads.take(nil)
			release()
			if len(loads.clusters) != 0 || loads.released != 0 {
				t.Errorf("%d clusters are left, %d of them released", len(loads.clusters), loads.released)
			}
		})
	}
}

// TestNamesWithinAClusterAreBounded: a control plane that names other categories and localities again and again, and asks
// for no report, makes the client hold so many of them. After reports there is a place for each.
func TestNamesWithinAClusterAreBounded(t *testing.T) {
	var l Loads
	c, release := l.Cluster("c", "")
	defer release()
	long := strings.Repeat("x", 10_000)
	count := func(name string) *LocalityLoad {
		c.Dropped(name)
		load := c.Locality(LocalityKey{Zone: name})
		load.Started()
		return load
	}
	var last *LocalityLoad
	for i := range 1000 {
		if last != nil {
			last.Finished(false)
		}
		last = count(fmt.Sprint(i) + long)
	}
	if n := len(c.drops) * len(long); n < maxNames/2 || n > maxNames {
		t.Errorf("categories use %d bytes", n)
	}
	if n := len(c.localities) * len(long); n < maxLocalities/2 || n > maxLocalities {
		t.Errorf("localities use %d bytes", n)
	}
	if r := l.take(nil); r[0].dropped != 1000 {
		t.Errorf("%d dropped RPCs are reported", r[0].dropped)
	}
	last.Finished(false) // on counters that are in no report
	for range 2 {
		l.take(nil)
	}
	if c.unreported != nil || len(c.localities) != 0 || c.places != 0 || c.categories != 0 {
		t.Errorf("held after reports: %d localities, %d and %d bytes", len(c.localities), c.places, c.categories)
	}
	last.Started()
	last.Finished(true)
	if r := l.take(nil); len(r) != 1 || len(r[0].localities) != 1 || r[0].localities[0].failed != 1 {
		t.Errorf("reported: %v", r)
	}
}
