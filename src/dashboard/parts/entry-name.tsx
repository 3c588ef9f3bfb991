import classes from './entry-name.module.css';
import { MarkedText } from './marked-text.tsx';

interface EntryNameProps {
  /** null: it has none that can be read. */
  title: string | null;
  collection: string;
  slug: string;
}

/** An entry by its title, with its place in the site after it. */
export function EntryName({ title, collection, slug }: EntryNameProps) {
  const place = `${collection} / ${slug}`;
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
