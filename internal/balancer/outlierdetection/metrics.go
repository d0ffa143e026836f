// SPDX-License-Identifier: Apache-2.0

package outlierdetection

import estats "google.golang.org/grpc/experimental/stats"

// These are the label values of the methods that detect outliers.
const (
	successRate       = "success_rate"
	failurePercentage = "failure_percentage"
)

// These are the metrics of A91.
var (
	ejectionsEnforced = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.outlier_detection.ejections_enforced",
		Description:    "EXPERIMENTAL. Endpoints that were left out.",
		Unit:           "{ejection}",
		Labels:         []string{"grpc.target", "grpc.lb.outlier_detection.detection_method"},
		OptionalLabels: []string{"grpc.lb.backend_service"},
	})
	ejectionsUnenforced = estats.RegisterInt64Count(estats.MetricDescriptor{
		Name:           "grpc.lb.outlier_detection.ejections_unenforced",
		Description:    "EXPERIMENTAL. Endpoints that were found to be outliers, and not left out.",
		Unit:           "{ejection}",
		Labels:         []string{"grpc.target", "grpc.lb.outlier_detection.detection_method", "grpc.lb.outlier_detection.unenforced_reason"},
		OptionalLabels: []string{"grpc.lb.backend_service"},
	})
)

func (p *policy) enforced(method string) {
	ejectionsEnforced.Record(p.MetricsRecorder(), 1, p.target(), method, p.service)
}

func (p *policy) unenforced(method, reason string) {
	ejectionsUnenforced.Record(p.MetricsRecorder(), 1, p.target(), method, reason, p.service)
}

func (p *policy) target() string { return p.opts.Of(p.ClientConn).Target.String() }
