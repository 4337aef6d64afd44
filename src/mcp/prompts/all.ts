// The table of the prompts that people may choose in their clients, in the order in which they see them.

import type { Prompt } from '../resource.ts'

export const allPrompts: readonly Prompt[] = []
