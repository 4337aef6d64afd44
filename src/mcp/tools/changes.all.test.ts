// Tests each tool that changes something, from the preview to the change.

import { cases, testCase } from '../../../testing/agent-changes.ts'

// The short run has this one.
for (const each of cases.filter(({ tool }) => tool !== 'delete_topic')) testCase(each)
