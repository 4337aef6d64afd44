// Why something failed: what it means, what to do, and the id by which the operator finds the request in the log.

import { CircleAlert } from 'lucide-react'
import type { Problem } from '../api/problem.ts'
import { Button } from './button.tsx'
import { CopyButton } from './copy.tsx'
import { VisibleText } from './visible-text.tsx'

interface ProblemNoteProps {
  readonly problem: Problem
  /** The things that were to be shown or done: `The topics`. */
  readonly of?: string
  readonly onRetry?: () => void
}

/** The objections to fields that no form shows at a field of its own. */
function Fields({ fields }: { readonly fields: Problem['fields'] }) {
  const rows = Object.entries(fields)
  if (rows.length === 0) return null
  return (
    <ul className="mt-1 list-disc pl-5">
      {rows.map(([field, objection]) => (
        <li key={field}>
          <code className="font-mono">
            <VisibleText text={field} />
          </code>
          : <VisibleText text={objection} />
        </li>
      ))}
    </ul>
  )
}

export function ProblemNote({ problem, of, onRetry }: ProblemNoteProps) {
  const { title, detail, fields, requestId, status } = problem
  return (
    <div
      role="alert"
      className="my-3 flex gap-3 rounded-card border border-danger bg-danger-soft p-3"
      data-problem={problem.code}
    >
      <CircleAlert size={20} aria-hidden className="mt-px shrink-0 text-danger" />
      <div className="min-w-0 grow">
        <p className="font-medium">{of === undefined ? title : `${of} could not be loaded. ${title}`}</p>
        {detail !== title && (
          <p>
            <VisibleText text={detail} />
          </p>
        )}
        <Fields fields={fields} />
        {status === 503 && <p>Nothing was changed. Try again in a moment.</p>}
        {requestId !== null && (
          <p className="mt-1 flex items-center gap-1 text-dense text-muted">
            Request <code className="font-mono">{requestId}</code>
            <CopyButton value={requestId} of="request id" />
          </p>
        )}
        {onRetry !== undefined && (
          <div className="mt-2">
            <Button isSmall onClick={onRetry}>
              Try again
            </Button>
          </div>
        )}
      </div>
    </div>
  )
}
