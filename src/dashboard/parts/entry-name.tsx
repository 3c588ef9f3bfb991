import { usePageQuery } from '../lib/page-query.ts';
import { usePlace } from '../lib/place.ts';
import { projectQuery } from '../shell/project-query.ts';
import classes from './entry-name.module.css';
import { MarkedText } from './marked-text.tsx';

/** Labels of the collections of the project one is in, by name; the frame has read them. */
export function useCollectionLabel(): (name: string) => string {
  const { data } = usePageQuery(projectQuery(usePlace()));
  const collections = data?.project?.studio.collections?.nodes ?? [];
  const labels = new Map(collections.map(({ name, label }) => [name, label]));
  return (name) => labels.get(name) ?? name;
}

interface EntryNameProps {
  /** null: it has none that can be read. */
  title: string | null;
  collection: string;
  slug: string;
}

/** An entry by its title, with its place in the site after it. */
export function EntryName({ title, collection, slug }: EntryNameProps) {
  const place = `${useCollectionLabel()(collection)} / ${slug}`;
  if (!title) return <MarkedText text={place} />;
  return (
    <>
      <bdi>
        <MarkedText text={title.slice(0, 200)} />
      </bdi>{' '}
      <small className={classes.place}>
        <MarkedText text={place} />
      </small>
    </>
  );
}
