/**
 * Waits for all of several promises, whatever becomes of some: a transaction must not end while statements of it are under way.
 * @throws what the first of them throws
 */
export async function together<const Work extends readonly unknown[]>(work: Work) {
  await Promise.allSettled(work);
  return Promise.all(work);
}
