import { Button, Group, Input, Stack, TextInput } from '@mantine/core';
import { IconFile, IconPhoto } from '@tabler/icons-react';
import { lazy, Suspense, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { candidatePaths, fileAddress, linkTo, type StoredFile } from '../lib/media.ts';
import classes from './fields.module.css';
import { textOf, useField, useForm, type WidgetProps } from './form.tsx';

const MediaPicker = lazy(async () => ({ default: (await import('./media-picker.tsx')).MediaPicker }));

/** A file's picture, tried where it may be; an icon when it is nowhere. */
export function Thumbnail({ link, alt }: { link: string; alt: string }) {
  const { place } = useForm();
  const [tried, setTried] = useState({ link, at: 0 });
  const at = tried.link === link ? tried.at : 0;
  const path = candidatePaths(place.path, link)[at];
  if (path === undefined)
    return (
      <span className={classes.thumb} aria-hidden="true">
        <IconPhoto size={24} stroke={1.2} />
      </span>
    );
  return (
    <img
      className={classes.thumb}
      src={fileAddress(place, path)}
      alt={alt}
      loading="lazy"
      onError={() => setTried({ link, at: at + 1 })}
    />
  );
}

/** An image or another file: its path, chosen among the files there are or uploaded in place. */
export function MediaWidget({ field, pointer }: WidgetProps) {
  const { t } = useTranslation('entry');
  const { place } = useForm();
  const { value, set, labels, isReadOnly } = useField({ field, pointer });
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const link = textOf(value);
  const isImage = field.type === 'image';
  const take = (file: StoredFile) => {
    set(linkTo(place, file));
    setOpen(false);
  };
  return (
    <Input.Wrapper {...labels} id={id}>
      <div className={classes.media}>
        {isImage && link !== '' && <Thumbnail link={link} alt="" />}
        <Stack gap={6} flex={1} miw={0}>
          <TextInput
            id={id}
            value={link}
            onChange={(event) => set(event.currentTarget.value || (field.isRequired ? '' : undefined))}
            leftSection={isImage ? <IconPhoto size={16} /> : <IconFile size={16} />}
            readOnly={isReadOnly}
            spellCheck={false}
            aria-required={field.isRequired}
          />
          {!isReadOnly && (
            <Group gap={6}>
              <Button
                variant="default"
                size="compact-sm"
                onClick={() => setOpen(true)}
                aria-label={t('choose_of', { label: field.label })}
              >
                {t('choose')}
              </Button>
              {link !== '' && !field.isRequired && (
                <Button
                  variant="subtle"
                  size="compact-sm"
                  onClick={() => set(undefined)}
                  aria-label={t('remove_of', { label: field.label })}
                >
                  {t('remove')}
                </Button>
              )}
            </Group>
          )}
        </Stack>
      </div>
      <Suspense>
        {isOpen && (
          <MediaPicker
            isImage={isImage}
            named={/[./]/.test(link) ? link : null}
            own={field.mediaPath ?? null}
            onClose={() => setOpen(false)}
            onTake={take}
          />
        )}
      </Suspense>
    </Input.Wrapper>
  );
}
