// SPDX-License-Identifier: Apache-2.0

package client

import (
	"testing"
	"testing/synctest"
	"time"

	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc/internal/xds/bootstrap"
	"google.golang.org/protobuf/types/known/durationpb"
)

func TestA27LoadReports(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		server := w.Bootstrap().Servers[0]
		loads, stop := w.ReportLoad(server)
		again, stopAgain := w.ReportLoad(server)
		if loads != again {
			t.Error("two counters for a server")
		}
		synctest.Wait()
		s := <-w.planes["p"].loads
		r := s.load()
		if f := r.GetNode().GetClientFeatures(); len(f) == 0 || f[len(f)-1] != allClusters {
			t.Errorf("%v", f)
		}
		cluster, release := loads.Cluster("c", "service")
		l := cluster.Locality(LocalityKey{Zone: "z"})
		cluster.Dropped("x")
		cluster.Dropped("")
		l.Started()
		l.Started()
		l.Finished(true)
		l.ReportNamed("key", 1)
		l.ReportNamed("key", 2.5)
		l.ReportTop(CPU, 0.5)
		s.responses <- &lrsv3.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(3 * time.Second)}
		synctest.Wait()
		time.Sleep(3 * time.Second)
		stats := s.load().GetClusterStats()
		if len(stats) != 1 || stats[0].ClusterName != "c" || stats[0].ClusterServiceName != "service" || stats[0].TotalDroppedRequests != 2 ||
			len(stats[0].DroppedRequests) != 1 || stats[0].LoadReportInterval.AsDuration() != 3*time.Second {
			t.Fatalf("%v", stats)
		}
		u := stats[0].UpstreamLocalityStats[0]
		if u.Locality.Zone != "z" || u.TotalIssuedRequests != 2 || u.TotalErrorRequests != 1 || u.TotalSuccessfulRequests != 0 || u.TotalRequestsInProgress != 1 ||
			u.LoadMetricStats[0].TotalMetricValue != 3.5 || u.LoadMetricStats[0].NumRequestsFinishedWithMetric != 2 || u.CpuUtilization.GetTotalMetricValue() != 0.5 || u.MemUtilization != nil {
			t.Errorf("%v", u)
		}
		l.Finished(false)
		time.Sleep(3 * time.Second)
		u = s.load().GetClusterStats()[0].UpstreamLocalityStats[0]
		if u.TotalIssuedRequests != 0 || u.TotalSuccessfulRequests != 1 || u.TotalRequestsInProgress != 0 || u.LoadMetricStats != nil || u.CpuUtilization != nil {
			t.Errorf("%v", u)
		}
		// Only what is asked for, and nothing that nothing happened to.
		s.responses <- &lrsv3.LoadStatsResponse{Clusters: []string{"other"}, LoadReportingInterval: durationpb.New(time.Second)}
		cluster.Dropped("x")
		synctest.Wait()
		time.Sleep(time.Second)
		if stats := s.load().GetClusterStats(); len(stats) != 0 {
			t.Errorf("%v", stats)
		}
		// A stream that ends is opened again, and counts go on.
		close(s.end)
		time.Sleep(time.Minute)
		s = <-w.planes["p"].loads
		s.load()
		s.responses <- &lrsv3.LoadStatsResponse{Clusters: []string{"z", "c", "a", "z"}, LoadReportingInterval: durationpb.New(time.Second)}
		synctest.Wait()
		time.Sleep(time.Second)
		if stats := s.load().GetClusterStats(); len(stats) != 1 || stats[0].TotalDroppedRequests != 1 || stats[0].LoadReportInterval.AsDuration() < time.Minute {
			t.Errorf("%v", stats)
		}
		release()
		time.Sleep(time.Second)
		s.load()
		if len(loads.clusters) != 0 {
			t.Error("a cluster that nobody counts for stays")
		}
		// An interval of nothing ends the stream.
		s.responses <- &lrsv3.LoadStatsResponse{SendAllClusters: true}
		synctest.Wait()
		if s.ctx.Err() == nil {
			t.Error("an interval of 0 is accepted")
		}
		stop()
		stop()
		synctest.Wait()
		if w.planes["p"].closed != 0 {
			t.Error("closed though somebody reports")
		}
		stopAgain()
		synctest.Wait()
		if w.planes["p"].closed != 1 {
			t.Error("the connection stays")
		}
		// A47: nobody but who is configured.
		other, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"evil","channel_creds":[{"type":"google_default"}]}]}`), bootstrap.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l2, stop2 := w.ReportLoad(other.Servers[0])
		l2.Cluster("c", "")
		stop2()
	})
}

// TestLoadReportsHaveAFloor: a control plane gets no more reports than it needs, however many it
// asks for.
func TestLoadReportsHaveAFloor(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		loads, stop := w.ReportLoad(w.Bootstrap().Servers[0])
		defer stop()
		synctest.Wait()
		s := <-w.planes["p"].loads
		s.load()
		loads.Cluster("c", "")
		s.responses <- &lrsv3.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(minInterval)}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if n := len(s.requests); n != int(time.Second/shortestInterval) {
			t.Errorf("%d reports in a second", n)
		}
	})
}

// TestLoadReportNobodyReads: a stream whose last report can't be sent ends all the same.
func TestLoadReportNobodyReads(t *testing.T) {
	inWorld(t, one(""), Config{}, func(w *world) {
		loads, stop := w.ReportLoad(w.Bootstrap().Servers[0])
		defer stop()
		synctest.Wait()
		s := <-w.planes["p"].loads
		s.load()
		loads.Cluster("c", "")
		for len(s.requests) < cap(s.requests) {
			s.requests <- &lrsv3.LoadStatsRequest{}
		}
		s.responses <- &lrsv3.LoadStatsResponse{SendAllClusters: true, LoadReportingInterval: durationpb.New(time.Second)}
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		s.responses <- &lrsv3.LoadStatsResponse{} // an interval of 0 is an error
		<-s.ctx.Done()
	})
}
