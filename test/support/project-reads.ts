import { acme, type TestApp } from './app.ts';

/** Fields that name the project, or say where and how its repository lies on this server. */
const ofPlace = ['uuid', 'machine_name', 'clone_url'];

/** A copy without what differs between two projects of the same content. */
function withoutPlace(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (Array.isArray(value)) return value.map(withoutPlace);
  const isRecord = ofPlace.some((name) => name in value);
  const left = new Set([...ofPlace, ...(isRecord ? ['id', 'size'] : [])]);
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, item]) => (left.has(name) ? [] : [[name, withoutPlace(item)]])),
  );
}

/** Everything REST reads of a project, by path: what must be the same of one that was backed up and restored. */
export async function readProject(app: TestApp, project: string): Promise<Record<string, unknown>> {
  const answers: Record<string, unknown> = {};
  const read = async (path: string) => {
    const { status, body } = await app.ask('GET', `${acme}/projects/${project}${path}`);
    if (status >= 300) throw new Error(`GET ${path}: ${status} ${JSON.stringify(body)}`);
    answers[path] = { status, body: withoutPlace(body) };
    return body;
  };
  await read('');
  await read('/studio/repository');
  for (const { name: branch } of await read('/studio/branches?compare=true')) {
    const at = `branch=${encodeURIComponent(branch)}`;
    for (const { path, type } of (await read(`/studio/filetree?${at}`)).tree)
      if (type === 'blob') await read(`/studio/file?path=${encodeURIComponent(path)}&${at}`);
    await read(`/studio/commits?${at}`);
    await read(`/studio/schema?${at}`);
    await read(`/studio/media?recursive=true&${at}`);
    for (const { name } of await read(`/studio/collections?${at}`))
      for (const { slug } of await read(`/studio/collections/${name}?${at}`))
        await read(`/studio/collections/${name}/${slug}?${at}`);
  }
  for (const state of ['open', 'closed', 'merged']) {
    for (const { number } of await read(`/studio/pulls?state=${state}`)) {
      await read(`/studio/pulls/${number}`);
      await read(`/studio/pulls/${number}/files`);
    }
  }
  return answers;
}
