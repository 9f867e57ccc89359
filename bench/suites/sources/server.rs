//! A server and its clients in one program: tasks on several threads, timers, and a task that panics.
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut bytes = [0; 8];
    while stream.read_exact(&mut bytes).await.is_ok() {
        let number = u64::from_le_bytes(bytes);
        if number % 16 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        stream.write_all(&(number * 3 + 1).to_le_bytes()).await?;
    }
    Ok(())
}

#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream));
        }
    });
    let clients: Vec<_> = (0..40_u64)
        .map(|client| {
            tokio::spawn(async move {
                let mut stream = TcpStream::connect(address).await.unwrap();
                let mut sum = 0;
                for round in 0..50 {
                    stream.write_all(&(client * round).to_le_bytes()).await.unwrap();
                    let mut bytes = [0; 8];
                    stream.read_exact(&mut bytes).await.unwrap();
                    sum += u64::from_le_bytes(bytes);
                }
                assert!(client % 10 != 0, "every tenth");
                sum
            })
        })
        .collect();
    let (mut sum, mut panics) = (0, 0);
    for client in clients {
        match client.await {
            Ok(part) => sum += part,
            Err(error) => panics += u32::from(error.is_panic()),
        }
    }
    println!("{sum} {panics}");
}
