// The work of a page as commands for terminals, behind a line that opens them.

import { useState } from 'react'
import type { Task, Tool } from '../text/commands.ts'
import { Recipes } from './recipes.tsx'

interface CopyAsCommandProps {
  readonly task: Task
  /** Only these tools. */
  readonly tools?: readonly Tool[]
  /** A sentence above the commands. */
  readonly note?: string
}

export function CopyAsCommand({ note, ...recipes }: CopyAsCommandProps) {
  const [isOpen, setOpen] = useState(false)
  return (
    <details className="mt-4" onToggle={event => setOpen(event.currentTarget.open)}>
      <summary className="inline-flex min-h-7 items-center font-medium text-accent max-sm:min-h-11">
        Copy as command
      </summary>
      {note !== undefined && <p className="text-muted">{note}</p>}
      {/* The commands are loaded when somebody wants them. */}
      {isOpen && <Recipes {...recipes} />}
    </details>
  )
}
