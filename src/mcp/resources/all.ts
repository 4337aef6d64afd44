// The table of the resources that agents may read, in the order in which clients see them.

import type { Resource } from '../resource.ts'

export const allResources: readonly Resource[] = []
