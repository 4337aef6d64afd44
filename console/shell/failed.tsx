// The page that replaces a page that failed: the console made a mistake, or a part of it could not be loaded, for
// example because the broker was replaced by a newer version.

import { asProblem } from '../api/problem.ts'
import { Button } from '../parts/button.tsx'
import { PageHead } from '../parts/page.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'

export function Failed({ error }: { readonly error: unknown }) {
  const isLoading = error instanceof TypeError && /import|module/i.test(error.message)
  return (
    <>
      <PageHead title="This page cannot be shown" />
      {isLoading ? (
        <p className="my-3">
          A part of the console could not be loaded. The broker is away, or it has been replaced by another version.
        </p>
      ) : (
        <ProblemNote problem={asProblem(error)} />
      )}
      <Button kind="primary" onClick={() => location.reload()}>
        Reload the page
      </Button>
    </>
  )
}
