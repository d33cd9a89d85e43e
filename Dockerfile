FROM python:3.13-slim
ENV PYTHONUNBUFFERED=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir --require-hashes -r requirements.txt
COPY . .
RUN useradd --system --home-dir /app elicit && mkdir -p var && chown elicit var
USER elicit
CMD ["python", "manage.py", "serve", "--host", "0.0.0.0", "--port", "8000"]
