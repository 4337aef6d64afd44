// For each test of librdkafka's suite that does not pass: who answers for it, and why. A test that passes has no line here.

import type { Reason } from './outcomes.ts'

export const reasons: Readonly<Record<string, Reason>> = {}
