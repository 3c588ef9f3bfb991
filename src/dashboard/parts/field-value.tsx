import { useTranslation } from 'react-i18next';
import classes from './field-value.module.css';
import { MarkedText } from './marked-text.tsx';

/** A value of the frontmatter as it can be read: texts and numbers as they are, lists by items, the rest as JSON. */
export function FieldValue({ value }: { value: unknown }) {
  const { t } = useTranslation('common');
  if (value === undefined) return <span className={classes.none}>{t('value_none')}</span>;
  if (value === null || value === '') return <span className={classes.none}>{t('value_empty')}</span>;
  if (typeof value === 'boolean') return t(value ? 'value_yes' : 'value_no');
  if (typeof value === 'string')
    return (
      <span className={classes.text} dir="auto">
        <MarkedText text={value} />
      </span>
    );
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return (
      <ul className={classes.items}>
        {value.map((item, at) => (
          <li key={at} dir="auto">
            <MarkedText text={String(item)} />
          </li>
        ))}
      </ul>
    );
  return (
    <code className={classes.text}>
      <MarkedText text={JSON.stringify(value, null, 2)} />
    </code>
  );
}
