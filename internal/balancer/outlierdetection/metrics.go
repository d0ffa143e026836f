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

// record logs the notes, and records the verdicts. The policy's mu must not be held: loggers and recorders are the
// program's.
func (r *round) record() {
	for _, note := range r.notes {
		logger.Info(note)
	}
	for _, v := range r.verdicts {
		if v.spared == "" {
			ejectionsEnforced.Record(r.MetricsRecorder(), 1, r.target(), v.method, r.service)
		} else {
			ejectionsUnenforced.Record(r.MetricsRecorder(), 1, r.target(), v.method, v.spared, r.service)
		}
	}
}

func (p *policy) target() string { return p.opts.Of(p.ClientConn).Target.String() }
